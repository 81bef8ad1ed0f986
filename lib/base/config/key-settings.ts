import { z } from 'zod'
import {
  createKeys,
  type GivenKeys,
  type Keys,
  missingPurposes,
  type Purpose,
  parseDerivedKeys,
  parseMasterKeys,
} from '../crypto/keys.ts'
import {
  type Config,
  ConfigError,
  describedSetting,
  inFileSetting,
  optionalSetting,
  type Setting,
  setting,
} from './config.ts'

/** A list of keys; `undefined` without one. A wrong text is never shown. */
function keysSetting<T>(
  variable: string,
  expected: string,
  parse: (text: string) => T,
): Setting<T | undefined> {
  const schema = z.string().transform((text, { addIssue }) => {
    try {
      return parse(text)
    } catch {
      addIssue('not keys')
      return z.NEVER
    }
  })
  return inFileSetting(optionalSetting(setting<T>(variable, expected, schema)))
}

/** The keys of a process (O9). */
export const KEY_SETTINGS = {
  master_keys: describedSetting(
    'The keys from which the keys of all purposes are derived; see Keys. For one process with all roles, and for commands.',
    keysSetting(
      'MULTIHUB_MASTER_KEYS',
      'keys such as 2026a:64-hex-digits, separated by commas, each id once',
      parseMasterKeys,
    ),
  ),
  derived_keys: describedSetting(
    'The derived keys that the roles of the process need, instead of master keys; see Keys.',
    keysSetting(
      'MULTIHUB_KEYS',
      'derived keys such as journal.2026a:64-hex-digits, separated by commas, each purpose and id once',
      parseDerivedKeys,
    ),
  ),
  active_key_id: describedSetting(
    'The id of the key that encrypts and signs. The other keys only decrypt and verify. Needed where there is more than one id.',
    optionalSetting(
      setting('MULTIHUB_ACTIVE_KEY', 'the id of a key', z.string().regex(/^[A-Za-z0-9_-]{1,32}$/)),
    ),
  ),
} as const

type KeyConfig = Config<typeof KEY_SETTINGS>

/** The id of the active key, or `undefined` where several keys are given and none is named. */
function activeIdOf({ master_keys, derived_keys, active_key_id }: KeyConfig): string | undefined {
  if (active_key_id !== undefined) return active_key_id
  const ids = new Set(
    [master_keys, ...(derived_keys?.values() ?? [])].flatMap((keys) => [...(keys?.keys() ?? [])]),
  )
  return ids.size === 1 ? [...ids][0] : undefined
}

/** What is wrong with the keys for these purposes, one sentence per problem. */
export function keyProblems(config: KeyConfig, purposes: readonly Purpose[]): readonly string[] {
  if (purposes.length === 0) return []
  if (config.master_keys === undefined && config.derived_keys === undefined)
    return [`MULTIHUB_MASTER_KEYS is missing: set it, or MULTIHUB_KEYS with keys for ${purposes.join(', ')}`]
  const active_id = activeIdOf(config)
  if (active_id === undefined)
    return ['MULTIHUB_ACTIVE_KEY is missing: several keys are given, so it must name the one that encrypts']
  const missing = missingPurposes(givenKeys(config, active_id), purposes)
  if (missing.length === 0) return []
  return [`there is no key ${active_id} for ${missing.join(', ')}: add it, or correct MULTIHUB_ACTIVE_KEY`]
}

/** The keys of some purposes, and of no other. Throws `ConfigError` where one has no active key. */
export function readKeys<P extends Purpose>(config: KeyConfig, purposes: readonly P[]): Keys<P> {
  const problems = keyProblems(config, purposes)
  if (problems.length > 0) throw new ConfigError(problems)
  return createKeys(givenKeys(config, activeIdOf(config) ?? ''), purposes)
}

function givenKeys({ master_keys, derived_keys }: KeyConfig, active_id: string): GivenKeys {
  return { master_keys: master_keys ?? new Map(), derived_keys: derived_keys ?? new Map(), active_id }
}

/** The ids of all keys of a process, the active one first; empty without keys. */
export function keyIdsOf(config: KeyConfig): readonly string[] {
  const { master_keys, derived_keys } = config
  const ids = [master_keys, ...(derived_keys?.values() ?? [])].flatMap((keys) => [...(keys?.keys() ?? [])])
  const active_id = activeIdOf(config)
  return [...new Set([...(active_id === undefined ? [] : [active_id]), ...ids])]
}
