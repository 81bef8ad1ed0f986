import { type Config, readConfig } from '#lib/base/config/config.ts'
import { keyIdsOf, readKeys } from '#lib/base/config/key-settings.ts'
import { StartError } from '#lib/base/start-error.ts'
import type { ResealKeys } from '#lib/role/operations.ts'
import type { RoleName } from '#lib/role/role.ts'
import type { Command, CommandOutput } from '../app/run.ts'
import { recordRun } from './backup/record-run.ts'
import { COMMAND_PURPOSES, databasesOf, loadOperations, readerOf, VERIFY_SETTINGS } from './databases.ts'

/** The roles that store secrets. Payments comes before the notifier, which gets the secrets of its events from there. */
export const SEALING_ROLES: readonly RoleName[] = ['merchants', 'payments', 'notifier']

/**
 * `main.ts reseal [--to ID]`: encrypts all stored secrets again that are not under the active key, so that the others
 * can be removed. Prints the documents by key. It may run while the system works, and be interrupted and repeated. Throws
 * `StartError` when a secret cannot be decrypted, when there are several keys and no `--to`, because the wrong active key
 * would look like a success, and before anything when `--to` names another key than the active one.
 */
export const reseal: Command = async (words, variables, output) => {
  const [option, to, ...more] = words
  if (option !== undefined && (option !== '--to' || to === undefined || more.length > 0))
    throw new StartError(`${words.join(' ')} is not understood: reseal takes --to and the id of a master key`)
  const config = readConfig(VERIFY_SETTINGS, variables)
  const keys = readKeys(config, COMMAND_PURPOSES.reseal)
  const [active = '', ...others] = keyIdsOf(config)
  if (to !== undefined && to !== active)
    throw new StartError(
      `the active key is ${active}, not ${to}: set MULTIHUB_ACTIVE_KEY to ${to}, here and in all processes`,
    )
  await recordRun({ config, kind: 'reseal', output }, async () => {
    const left = await resealAll(config, keys, [active, ...others], output)
    if (left > 0) throw new StartError('some secrets cannot be decrypted: add their master keys and repeat')
    return {}
  })
  if (to === undefined && others.length > 0)
    throw new StartError(
      `remove no key yet: everything is under ${active}, and other keys are configured (${others.join(', ')}). ` +
        `If ${active} is the key to keep, repeat with --to ${active}; else set MULTIHUB_ACTIVE_KEY first`,
    )
}

/** Returns how many documents have a secret that cannot be decrypted. Prints the documents by key. */
async function resealAll(
  config: Config<typeof VERIFY_SETTINGS>,
  keys: ResealKeys,
  key_ids: readonly string[],
  { printLine, printProgress }: CommandOutput,
): Promise<number> {
  const databases = databasesOf(config)
  const by_key = Object.fromEntries(key_ids.map((id) => [id, 0]))
  let [changed, left] = [0, 0]
  for (const role of await loadOperations(SEALING_ROLES)) {
    // Each document is changed by itself, however long they take together.
    const snapshot = await databases.openSnapshot([role], 'ordered')
    const store = await databases.openStore(role, 'verify')
    const readDocuments = readerOf(snapshot, databases.nameOf(role), printProgress)
    try {
      for await (const count of role.reseal?.(store, readDocuments, keys) ?? []) {
        changed += count.changed
        left += count.left
        for (const [id, documents] of Object.entries(count.by_key)) by_key[id] = (by_key[id] ?? 0) + documents
        for (const failure of count.failures) printLine(`PROBLEM  ${role.name}: ${failure}`)
        printProgress(`${role.name}: ${count.collection}: ${count.changed} of ${count.read} encrypted again`)
      }
    } finally {
      await store.close()
      await snapshot.close()
    }
  }
  printLine(`${changed} documents were encrypted again under the master key ${key_ids[0]}`)
  for (const [id, documents] of Object.entries(by_key)) printLine(`documents under ${id}: ${documents}`)
  return left
}
