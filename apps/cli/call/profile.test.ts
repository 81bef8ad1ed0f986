import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import type { CommonFlags } from '../request/common-flags.ts'
import type { Terminal } from '../terminal.ts'
import { findAccount, profilesPath, removeProfile, writeProfile } from './profile.ts'

/** A home of its own, with the profiles `default` and `staging`, and a folder with `demo.json`. */
async function newTerminal(variables: Readonly<Record<string, string>> = {}): Promise<Terminal> {
  const home = await mkdtemp(join(tmpdir(), 'multihub-profile-'))
  await writeFile(
    join(home, 'demo.json'),
    JSON.stringify({
      backoffice_url: variables['DEMO_URL'] ?? 'http://demo',
      operator: { token: 'of demo' },
    }),
  )
  return { variables: { HOME: home, MULTIHUB_HOME: home, ...variables }, directory: home } as Terminal &
    object
}

const PRODUCTION = { MULTIHUB_URL: 'http://production/', MULTIHUB_TOKEN: 'of production' }

/** The address and the token that are found, or the refusal. */
async function found(flags: CommonFlags, variables = {}, has_profiles = true): Promise<string> {
  const terminal = await newTerminal(variables)
  if (has_profiles)
    for (const name of ['default', 'staging'])
      writeProfile(name, { url: `http://${name}`, token: `of ${name}` }, terminal)
  try {
    const { url, token } = findAccount(flags, terminal)
    return `${url} ${token}`
  } catch (error) {
    return (error as Error).message.split(':')[0] ?? ''
  }
}

test.each([
  ['the local run', {}, {}, false, 'http://demo of demo'],
  ['the profile "default"', {}, {}, true, 'http://default of default'],
  [
    'a named profile, whatever the environment says',
    { profile: 'staging' },
    PRODUCTION,
    true,
    'http://staging of staging',
  ],
  ['the environment before profiles', {}, PRODUCTION, true, 'http://production of production'],
  [
    'no token of a profile for the address of the environment',
    {},
    { MULTIHUB_URL: 'http://x' },
    true,
    'there is no token for it',
  ],
  [
    'no address of another machine in the folder for the token of the environment',
    {},
    { MULTIHUB_TOKEN: 'y' },
    false,
    'there is no address of a back office',
  ],
  [
    'the local run for the token of the environment',
    {},
    { MULTIHUB_TOKEN: 'y', DEMO_URL: 'http://127.0.0.1:9096' },
    false,
    'http://127.0.0.1:9096 y',
  ],
  [
    'the token of the environment at the address of a profile',
    {},
    { MULTIHUB_TOKEN: 'y' },
    true,
    'http://default y',
  ],
  [
    'no token of a profile for the address of a flag',
    { url: 'http://x' },
    {},
    true,
    'there is no token for it',
  ],
  ['the token of a flag at the address of a profile', { token: 'z' }, {}, true, 'http://default z'],
])('finds %s', async (_what, flags, variables, has_profiles, expected) => {
  expect(await found(flags, variables, has_profiles)).toBe(expected)
})

test('a file of profiles that is damaged is named, and kept', async () => {
  const terminal = await newTerminal()
  const account = { url: 'http://x', token: 'y' }
  writeProfile('default', account, terminal)
  expect(removeProfile('default', terminal)).toEqual(account)
  const path = profilesPath(terminal)
  await writeFile(path, '{"default":')
  expect(() => writeProfile('other', account, terminal)).toThrow(`${path} is not valid JSON`)
  expect(() => findAccount({}, terminal)).toThrow(`${path} is not valid JSON`)
})
