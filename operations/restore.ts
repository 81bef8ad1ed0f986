import { join } from 'node:path'
import { readConfig } from '#lib/base/config/config.ts'
import { StartError } from '#lib/base/start-error.ts'
import type { RoleOperations } from '#lib/role/operations.ts'
import { readDeclarations } from '#lib/store/declarations.ts'
import { openRestoreTarget } from '#lib/store/open.ts'
import { databaseOf } from '../app/roles.ts'
import type { CommandOutput } from '../app/run.ts'
import { BACKUP_ORDER, DATABASE_SETTINGS } from './backup/backup.ts'
import { checkContent, loadContent } from './backup/load-database.ts'
import { type BackupContent, readManifest } from './backup/manifest.ts'
import { loadOperations } from './load-operations.ts'
import { VERIFY_SETTINGS, verify } from './verify.ts'

/**
 * `node main.ts restore [--verify] DIRECTORY`: fills the empty databases of a stopped system from a backup. Nothing is
 * written before every file of the backup was checked. With `--verify` the result is checked too. Throws `StartError` or
 * `Unavailable` with what to do.
 */
export async function restore(
  words: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
  output: CommandOutput,
): Promise<void> {
  const { printLine, printProgress } = output
  const is_verified = words.includes('--verify')
  const [directory, ...others] = words.filter((word) => word !== '--verify')
  if (directory === undefined || others.length > 0 || directory.startsWith('-'))
    throw new StartError('name the directory of a backup: node main.ts restore [--verify] DIRECTORY')
  const config = readConfig(is_verified ? VERIFY_SETTINGS : DATABASE_SETTINGS, variables)
  const { contents, began_at, system_name } = await readManifest(directory)
  if (system_name !== config.system_name)
    throw new StartError(
      `the backup is of the system ${system_name}: set MULTIHUB_SYSTEM_NAME to it, or name another backup`,
    )
  const roles = await loadOperations(BACKUP_ORDER)
  const contentsOf = (role: RoleOperations): readonly BackupContent[] =>
    contents.filter((content) => content.role === role.name)
  for (const role of roles) {
    const declarations = await readDeclarations(role.openCollections)
    for (const content of contentsOf(role)) await checkContent(directory, content, declarations)
    printProgress(`${role.name}: the files are as they were written`)
  }
  const target = await openRestoreTarget({
    databases: roles.map(({ name }) => databaseOf(system_name, name)),
    mongodb_uri: config.mongodb_uri,
    directory: join(config.home, 'data'),
    start_wait: { limit_ms: config.start_wait_ms },
  })
  for (const role of roles) {
    const store = await target.open(databaseOf(system_name, role.name))
    try {
      // All collections, so that those which the backup does not have get their indexes too.
      await role.openCollections(store)
      const declarations = await readDeclarations(role.openCollections)
      for (const content of contentsOf(role)) {
        await loadContent({ store, directory, content, declarations, printProgress })
        printProgress(`${role.name}: ${content.name}: restored`)
      }
      await role.afterRestore?.(store)
    } finally {
      await store.close()
    }
  }
  await target.finish()
  printLine(`the backup of ${began_at} is restored`)
  if (is_verified) await verify([], variables, output)
}
