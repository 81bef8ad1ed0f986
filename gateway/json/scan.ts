/** What a look over the bytes of a JSON text tells before it is parsed. Of a text that is not JSON it tells nothing. */
export interface Scan {
  /** How deep arrays and objects are nested. */
  readonly depth: number
  /** How many keys are written in all objects together, a repeated one each time. */
  readonly keys: number
  /** Whether every number is a short integer literal, which a double holds exactly. */
  readonly plain_numbers: boolean
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const MINUS = 0x2d
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
const OPEN_ARRAY = 0x5b
const OPEN_OBJECT = 0x7b
const CLOSE_ARRAY = 0x5d
const CLOSE_OBJECT = 0x7d

/** Integers of so many characters are exact as doubles. */
const PLAIN_LENGTH_MAX = 15

/** One pass over the bytes, without building anything. Every byte of UTF-8 beyond ASCII lies inside a string. */
export function scanJson(bytes: Uint8Array): Scan {
  const end = bytes.length
  let depth = 0
  let depth_now = 0
  let keys = 0
  let plain_numbers = true
  for (let at = 0; at < end; at += 1) {
    const byte = bytes[at] as number
    if (byte === QUOTE) {
      at = endOfString(bytes, at + 1)
    } else if (byte === COLON) {
      keys += 1
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth_now += 1
      if (depth_now > depth) depth = depth_now
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth_now -= 1
    } else if ((byte >= DIGIT_0 && byte <= DIGIT_9) || byte === MINUS) {
      const after = endOfInteger(bytes, at + 1)
      plain_numbers &&= after - at <= PLAIN_LENGTH_MAX && !continuesNumber(bytes[after])
      at = after - 1
    }
  }
  return { depth, keys, plain_numbers }
}

/** Where the string that begins before `at` has its closing quote. */
function endOfString(bytes: Uint8Array, start: number): number {
  let at = start
  for (;;) {
    const byte = bytes[at]
    if (byte === QUOTE || byte === undefined) return at
    at += byte === BACKSLASH ? 2 : 1
  }
}

function endOfInteger(bytes: Uint8Array, start: number): number {
  let at = start
  for (;;) {
    const byte = bytes[at]
    if (byte === undefined || byte < DIGIT_0 || byte > DIGIT_9) return at
    at += 1
  }
}

/** A point or an exponent makes it a number that is not an integer literal. */
function continuesNumber(byte: number | undefined): boolean {
  return byte === 0x2e || byte === 0x65 || byte === 0x45
}
