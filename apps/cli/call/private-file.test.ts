import { lchownSync, lstatSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { readIfThere, replaceFile } from './private-file.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'multihub-private-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('a file is replaced with the mode 0600, whatever it had', () => {
  const path = join(folder, 'profiles.json')
  writeFileSync(path, '{}', { mode: 0o644 })
  replaceFile(path, '{"a":1}')
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('no other user sees into a new folder', () => {
  replaceFile(join(folder, 'new', 'profiles.json'), '{}')
  expect(statSync(join(folder, 'new')).mode & 0o777).toBe(0o700)
})

test('a link is replaced, and what it names stays as it was', () => {
  const target = join(folder, 'target')
  const path = join(folder, 'profiles.json')
  writeFileSync(target, 'old')
  symlinkSync(target, path)
  replaceFile(path, 'new')
  expect([lstatSync(path).isSymbolicLink(), statSync(target).size]).toEqual([false, 3])
})

test('a link of another user is neither read nor written, as the file and as its folder', () => {
  const link = join(folder, 'link')
  symlinkSync(folder, link)
  // A link of root is used by everyone, so root gives the link to another user.
  if (process.getuid?.() === 0) lchownSync(link, 12_345, 12_345)
  const owner = lstatSync(link).uid
  const user = jest.spyOn(process, 'getuid')
  try {
    user.mockReturnValue(owner)
    replaceFile(join(link, 'profiles.json'), 'mine')
    expect(readIfThere(join(link, 'profiles.json'))).toBe('mine')
    user.mockReturnValue(owner + 1)
    for (const path of [link, join(link, 'profiles.json')]) {
      expect(() => readIfThere(path)).toThrow('a link of another user')
      expect(() => replaceFile(path, 'new')).toThrow('a link of another user')
    }
  } finally {
    user.mockRestore()
  }
})
