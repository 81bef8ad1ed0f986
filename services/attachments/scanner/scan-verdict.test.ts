import { expect, test } from '@jest/globals'
import { toScanVerdict } from './clamd.ts'

// F5
test.each([
  ['stream: OK', 'clean'],
  ['stream: Eicar-Test-Signature FOUND', 'infected'],
  ['stream: Heuristics.Limits.Exceeded.MaxFileSize FOUND', 'none'],
  ['stream: Heuristics.Limits.Exceeded FOUND', 'none'],
  ['INSTREAM size limit exceeded. ERROR', 'none'],
  ["stream: Can't allocate memory ERROR", 'none'],
  ['stream: OK ', 'none'],
  [' stream: OK', 'none'],
  ['stream: ok', 'none'],
  ['stream: OK\nstream: Eicar FOUND', 'none'],
  ['OK', 'none'],
  ['HTTP/1.1 200 OK', 'none'],
  ['', 'none'],
])('%j is the verdict %s', (response, verdict) => expect(toScanVerdict(response, false)).toBe(verdict))

// F5
test('a response before all bytes were sent can only refuse the file', () => {
  expect(toScanVerdict('stream: OK', true)).toBe('none')
  expect(toScanVerdict('stream: Eicar FOUND', true)).toBe('infected')
})
