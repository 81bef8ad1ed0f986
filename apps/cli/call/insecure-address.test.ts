import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from '@jest/globals'
import { runCommand } from '../program.ts'
import type { CommonFlags } from '../request/common-flags.ts'
import { openConnection } from './connection.ts'
import { isInsecure } from './insecure-address.ts'
import { writeProfile } from './profile.ts'

test.each([
  ['https://backoffice.example', false],
  ['http://localhost:9096', false],
  ['http://shop.localhost', false],
  ['http://127.0.0.1:9096', false],
  ['http://[::1]:9096', false],
  ['http://backoffice.example', true],
  ['http://10.0.0.7:9096', true],
  ['http://127.0.0.1.example', true],
  ['http://notlocalhost', true],
  ['nonsense', false],
])('%s can be read on the way: %s', (url, expected) => {
  expect(isInsecure(url)).toBe(expected)
})

async function run(...words: readonly string[]) {
  let err = ''
  const directory = mkdtempSync(join(tmpdir(), 'multihub-insecure-'))
  const terminal = {
    variables: { HOME: directory },
    directory,
    stdin: Readable.from(['mhp_a\n']) as unknown as NodeJS.ReadStream,
    stdout: { write: () => true },
    stderr: { write: (text: string) => (err += text) },
  }
  try {
    return { code: await runCommand(words, terminal), err }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

test('login sends no token over http to another machine', async () => {
  const login = ['login', '--url', 'http://backoffice.invalid']
  for (const words of [login, [...login, '--oidc']])
    expect(await run(...words)).toMatchObject({ code: 2, err: expect.stringContaining('add --insecure') })
})

/** What a command says before its call. */
function warningOf(flags: CommonFlags, variables: Readonly<Record<string, string>> = {}): string {
  let err = ''
  openConnection(flags, { variables, stderr: { write: (text: string) => (err += text) } } as never)
  return err
}

test('a command warns once that its token can be read on the way', () => {
  const flags = { url: 'http://backoffice.example', token: 'a' }
  expect(warningOf(flags)).toBe(
    'the token goes to http://backoffice.example without encryption: use https, or accept it by "login --insecure" or MULTIHUB_INSECURE=true\n',
  )
  expect(warningOf({ ...flags, url: 'https://backoffice.example' })).toBe('')
})

test('what the operator has accepted is not warned of again: by a variable, or of the address of a profile', () => {
  const url = 'http://backoffice'
  expect(warningOf({ url, token: 'a' }, { MULTIHUB_INSECURE: 'true' })).toBe('')
  const home = mkdtempSync(join(tmpdir(), 'multihub-insecure-'))
  try {
    const variables = { HOME: home }
    writeProfile('default', { url, token: 'a', insecure: true }, { variables } as never)
    writeProfile('old', { url, token: 'a' }, { variables } as never)
    expect(warningOf({}, variables)).toBe('')
    expect(warningOf({ profile: 'old' }, variables)).toContain('without encryption')
    expect(warningOf({ profile: 'default', url }, variables)).toBe('')
    expect(warningOf({ profile: 'default', url: 'http://other' }, variables)).toContain('http://other')
  } finally {
    rmSync(home, { recursive: true })
  }
})
