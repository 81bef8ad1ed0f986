import { createKeys, type Keys, PURPOSES, parseMasterKeys } from './keys.ts'

/** A master key for tests, as settings have it. Its bytes follow from its id. */
export function testMasterKey(id: string): string {
  return `${id}:${Buffer.from(id.padEnd(32, '.')).toString('hex').slice(0, 64)}`
}

/** The keys of all purposes from one or more master keys by their ids. The first one is active. */
export function testKeys(active_id = 'test', ...others: readonly string[]): Keys {
  const text = [active_id, ...others].map(testMasterKey).join(',')
  return createKeys({ master_keys: parseMasterKeys(text), derived_keys: new Map(), active_id }, PURPOSES)
}
