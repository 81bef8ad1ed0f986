import { readConfig } from '#lib/base/config/config.ts'
import { readKeys } from '#lib/base/config/key-settings.ts'
import { checkProxiesAreDecided } from '#lib/http/trusted-proxies.ts'
import { ROLES, type RoleName } from '#lib/role/role.ts'
import { loadWithSettings } from '../app/roles.ts'
import { publicBaseUrl } from '../gateway/public-base-url.ts'
import { GATEWAY_CONFIG } from '../gateway/service.ts'
import { COMMAND_PURPOSES, DATABASE_SETTINGS, VERIFY_SETTINGS } from '../operations/databases.ts'

/** The settings of the commands that are not for roles. */
const COMMAND_SETTINGS = {
  migrate: DATABASE_SETTINGS,
  backup: VERIFY_SETTINGS,
  restore: VERIFY_SETTINGS,
  verify: VERIFY_SETTINGS,
  reseal: VERIFY_SETTINGS,
}

/**
 * Reads the settings of a container as its process would, and returns the address of its database. `words` are the
 * arguments of the container. Throws `ConfigError` with all problems.
 */
export async function readContainerSettings(
  words: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const [first = ''] = words
  if (isCommand(first)) {
    if (first !== 'migrate') readKeys(readConfig(VERIFY_SETTINGS, variables), COMMAND_PURPOSES[first])
    return readConfig(COMMAND_SETTINGS[first], variables).mongodb_uri?.reveal()
  }
  const roles = first === 'doctor' ? words.slice(1) : words
  const names = roles[0] === 'all' ? ROLES : (roles as readonly RoleName[])
  const { config } = await loadWithSettings(names, variables)
  if (first !== 'doctor' && names.includes('gateway')) {
    publicBaseUrl(readConfig(GATEWAY_CONFIG, variables))
    checkProxiesAreDecided(variables)
  }
  return config.mongodb_uri?.reveal()
}

function isCommand(word: string): word is keyof typeof COMMAND_SETTINGS {
  return Object.hasOwn(COMMAND_SETTINGS, word)
}
