import type { Choices } from './choices.ts'

/** Invalid UTF-8, and valid UTF-8 that does not belong into a body. */
const ODD_BYTES = [
  [0xff],
  [0xc0, 0x80],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xe2, 0x82],
  [0x80],
  [0xef, 0xbb, 0xbf],
  [0x00],
  [0x1b],
  [0x7f],
] as const

/** Changes bytes at random. The result always differs from the body. */
export function mutateBytes(body: Buffer, choices: Choices): Buffer {
  const at = choices.integer(body.length + 1)
  const before = body.subarray(0, at)
  const after = body.subarray(at)
  const change = choices.weighted<() => Buffer>([
    [6, () => changeByte(body, choices)],
    [3, () => before],
    [2, () => after],
    [4, () => Buffer.concat([before, Buffer.from(choices.pick(ODD_BYTES)), after])],
    [2, () => Buffer.concat([before, after.subarray(1)])],
    [1, () => Buffer.concat([before, body, after])],
    [1, () => Buffer.from(body.toString(), 'utf16le')],
    [1, () => choices.bytes()],
  ])
  const changed = change()
  return changed.equals(body) ? Buffer.concat([body, Buffer.from('x')]) : changed
}

/** Changes one byte. */
export function changeByte(body: Buffer, choices: Choices): Buffer {
  const changed = Buffer.from(body)
  const at = choices.integer(changed.length)
  changed[at] = ((changed[at] ?? 0) + 1 + choices.integer(255)) % 256
  return changed
}

/** Changes one character to another one of the alphabet. */
export function changeCharacter(text: string, choices: Choices, alphabet: string): string {
  const at = choices.integer(text.length)
  const others = [...alphabet].filter((character) => character !== text.charAt(at))
  return text.slice(0, at) + choices.pick(others) + text.slice(at + 1)
}
