package main

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
)

// readPNG makes a plate of a picture: temperature is the grey value, black 0 and white 1.
func readPNG(name string) (plate, error) {
	f, err := os.Open(name)
	if err != nil {
		return plate{}, fmt.Errorf("heat2d: -in: %w", err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		return plate{}, fmt.Errorf("heat2d: -in %s: %w; heat2d reads PNG pictures only", name, err)
	}
	return plateOf(img), nil
}

func plateOf(img image.Image) plate {
	r := img.Bounds()
	p := plate{width: r.Dx(), height: r.Dy()}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			grey := color.Gray16Model.Convert(img.At(x, y)).(color.Gray16)
			p.t = append(p.t, float64(grey.Y)/0xffff)
		}
	}
	return p
}

// writePNG writes a picture of p. No part of one is left behind by an error.
func writePNG(name string, p plate) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("heat2d: -out: %w", err)
	}
	err = errors.Join(png.Encode(f, p.image()), f.Close())
	if err != nil {
		return fmt.Errorf("heat2d: -out: %w", errors.Join(err, os.Remove(name)))
	}
	return nil
}

func (p plate) image() image.Image {
	img := image.NewPaletted(image.Rect(0, 0, p.width, p.height), heatColors())
	for i, t := range p.t {
		img.Pix[i] = uint8(255*min(max(t, 0), 1) + 0.5)
	}
	return img
}

// glow are the colours of evenly spaced temperatures: black, violet, red, orange, yellow, white.
var glow = []color.RGBA{
	{0, 0, 4, 255}, {40, 11, 84, 255}, {101, 21, 110, 255}, {159, 42, 99, 255}, {212, 72, 66, 255},
	{245, 125, 21, 255}, {250, 193, 39, 255}, {252, 255, 164, 255}, {255, 255, 255, 255},
}

// heatColors is a palette of 256 colours from cold to hot.
func heatColors() color.Palette {
	pal := make(color.Palette, 256)
	for i := range pal {
		at := float64(i) / 255 * float64(len(glow)-1)
		k := min(int(at), len(glow)-2)
		a, b, f := glow[k], glow[k+1], at-float64(k)
		mix := func(a, b uint8) uint8 { return uint8(float64(a) + f*(float64(b)-float64(a)) + 0.5) }
		pal[i] = color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
	}
	return pal
}
