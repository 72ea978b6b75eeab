package tests

var bufferCases []testCase
