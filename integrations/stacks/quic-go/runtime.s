// Permits functions without a body in runtime.go.
