import { expect, test } from '@jest/globals'
import { readConfig } from './config.ts'
import { KEY_SETTINGS, keyProblems, readKeys } from './key-settings.ts'

const KEY = 'ab'.repeat(32)
const MASTER = 'MULTIHUB_MASTER_KEYS'
const DERIVED = 'MULTIHUB_KEYS'
const ACTIVE = 'MULTIHUB_ACTIVE_KEY'

// O9
test.each<[string, Readonly<Record<string, string>>, string]>([
  ['no key at all', {}, `${MASTER} is missing: set it, or ${DERIVED} with keys for journal, audit`],
  [
    'two keys and none active',
    { [MASTER]: `old:${KEY},new:${KEY}` },
    `${ACTIVE} is missing: several keys are given`,
  ],
  [
    'derived keys of two ids and none active',
    { [DERIVED]: `journal.old:${KEY},journal.new:${KEY},audit.new:${KEY}` },
    `${ACTIVE} is missing: several keys are given`,
  ],
  [
    'the keys of another role',
    { [DERIVED]: `credential.new:${KEY}` },
    'there is no key new for journal, audit: add it, or correct MULTIHUB_ACTIVE_KEY',
  ],
  [
    'an active key that one purpose lacks',
    { [DERIVED]: `journal.new:${KEY},audit.old:${KEY}`, [ACTIVE]: 'new' },
    'there is no key new for audit: add it, or correct MULTIHUB_ACTIVE_KEY',
  ],
])('the start of a process with %s is refused', (_what, variables, sentence) => {
  const config = readConfig(KEY_SETTINGS, variables)
  expect(keyProblems(config, ['journal', 'audit'])).toEqual([expect.stringContaining(sentence)])
  expect(() => readKeys(config, ['journal', 'audit'])).toThrow(sentence)
  expect(keyProblems(config, [])).toEqual([])
})
