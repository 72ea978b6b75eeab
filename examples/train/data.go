package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

const (
	pixels  = 64
	digits  = 10
	trained = 1440 // images for training; the others test what was learnt
)

//go:embed testdata/digits.csv.gz
var digitsGz []byte

// images is pictures one after the other, and which digits they are. It is immutable.
type images struct {
	pixels []float64 // from 0 to 1
	labels []int
}

// load reads the images of testdata.
func load() (images, error) {
	var im images
	z, err := gzip.NewReader(bytes.NewReader(digitsGz))
	if err != nil {
		return im, err
	}
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		words := strings.Split(lines.Text(), ",")
		if len(words) != pixels+1 {
			return im, fmt.Errorf("image %d has %d numbers", len(im.labels), len(words))
		}
		for i, word := range words {
			n, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return im, fmt.Errorf("image %d: %w", len(im.labels), err)
			}
			if i == pixels {
				im.labels = append(im.labels, int(n))
			} else {
				im.pixels = append(im.pixels, n/16)
			}
		}
	}
	return im, lines.Err()
}

// some is a copy of the images with these numbers.
func (im images) some(numbers []int) images {
	var s images
	for _, n := range numbers {
		s.pixels = append(s.pixels, im.pixels[n*pixels:(n+1)*pixels]...)
		s.labels = append(s.labels, im.labels[n])
	}
	return s
}

// tests is the images that are not trained with.
func (im images) tests() images { return images{im.pixels[trained*pixels:], im.labels[trained:]} }
