package tests

var topologyCases []testCase
