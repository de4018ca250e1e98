//! An example, which consists of tests.
