package tests

var errhandlerCases []testCase
