//! Exceptions that the bindings raise.

use pyo3::exceptions::{PyRuntimeError, PyValueError};

pyo3::create_exception!(
    _core,
    ScenarioError,
    PyValueError,
    "A scenario that cannot be run: field: value; what is accepted."
);

pyo3::create_exception!(
    _core,
    DefectError,
    PyRuntimeError,
    "A defect of longpipe, in one line; the scenario is not at fault."
);

pyo3::create_exception!(
    _core,
    StackDefectError,
    PyRuntimeError,
    "A defect of a real stack, in one line: the flow, the stack and its error."
);

pyo3::create_exception!(
    _core,
    MemoryLimitError,
    PyRuntimeError,
    "A run that exceeds its memory limit: the bytes that it needed next, and the limit."
);

pyo3::create_exception!(
    _core,
    ControlError,
    PyRuntimeError,
    "An error in a user's congestion controller: for a class, its exception, name, hook and time [s]; for a module, one line."
);
