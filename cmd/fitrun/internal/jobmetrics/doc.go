// Package jobmetrics shows a whole job to Prometheus: what fitrun --metrics serves.
//
//	/metrics         every rank's metrics, with the labels rank and host, and those of the job itself
//	/rank/N/metrics  those of one rank
//	/sd              the ranks as targets, for Prometheus' HTTP service discovery
//
// A scrape asks each rank that it is about one question, through cmd/fitrun/internal/view, and
// waits for the answers for a part of the time that the scraper says it has. Of a rank that does
// not answer, or has gone, it shows what is known of it. Ranks that no scrape is about are not
// asked.
package jobmetrics
