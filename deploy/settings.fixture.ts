import { readConfig } from '#lib/platform/config/config.ts'
import { PROCESS_SETTINGS, readProcessSettings } from '#lib/platform/process/process-settings.ts'
import { ROLES, type RoleName } from '#lib/platform/process/role.ts'
import { loadRoles } from '../roles.ts'

const MIGRATION_SETTINGS = { mongodb_uri: PROCESS_SETTINGS.mongodb_uri }

/**
 * Reads the settings of a container as its process would, and returns the address of its database. `words` are the
 * arguments of the container. Throws `ConfigError` with all problems.
 */
export async function readContainerSettings(
  words: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  if (words[0] === 'migrate') return readConfig(MIGRATION_SETTINGS, variables).mongodb_uri?.reveal()
  const names = words[0] === 'all' ? ROLES : (words as readonly RoleName[])
  const config = await readProcessSettings(await loadRoles(names), variables, {
    is_local_run: false,
    readOtherSchemas: async () => (await loadRoles(ROLES)).map((role) => role.settings),
  })
  return config.mongodb_uri?.reveal()
}
