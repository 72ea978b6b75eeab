package tests

var partitionedCases []testCase
