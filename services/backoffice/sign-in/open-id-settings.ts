import { z } from 'zod'
import {
  type Config,
  ConfigError,
  describedSetting,
  optionalSetting,
  setting,
} from '#lib/base/config/config.ts'
import { secretSetting, textSetting, urlSetting } from '#lib/base/config/settings.ts'
import { type GroupRights, parseGroupRights } from './domain/group-rights.ts'
import type { OpenIdOptions } from './open-id.ts'

const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

const ISSUER = z
  .string()
  .max(2048)
  .refine((text) => {
    const url = URL.parse(text)
    return url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname))
  })

const GROUPS = z.string().transform((text, { addIssue }): GroupRights => {
  const parsed = parseGroupRights(text)
  if (parsed !== undefined) return parsed
  addIssue('not groups')
  return z.NEVER
})

/** The settings by which browsers reach the back office and people sign in. */
export const SIGN_IN_SETTINGS = {
  url: describedSetting(
    'The address of the back office in browsers. Without it, browsers reach it at an IP address or at localhost only.',
    optionalSetting(urlSetting('MULTIHUB_BACKOFFICE_URL')),
  ),
  oidc_issuer: describedSetting(
    'The OpenID provider with which people sign in, as it names itself.',
    optionalSetting(
      setting('MULTIHUB_OIDC_ISSUER', 'a URL that begins with https://, or with http:// on loopback', ISSUER),
    ),
  ),
  oidc_client_id: describedSetting(
    'The id of the back office at the OpenID provider.',
    optionalSetting(textSetting('MULTIHUB_OIDC_CLIENT_ID')),
  ),
  oidc_client_secret: describedSetting(
    'The secret of the back office at the OpenID provider. A public client has none.',
    optionalSetting(secretSetting('MULTIHUB_OIDC_CLIENT_SECRET')),
  ),
  oidc_scopes: describedSetting(
    'The scopes that the back office asks the OpenID provider for. Some send groups only with a scope of their own.',
    textSetting('MULTIHUB_OIDC_SCOPES', 'openid profile'),
  ),
  oidc_group_claim: describedSetting(
    'The claim of the OpenID provider that lists the groups of a person.',
    textSetting('MULTIHUB_OIDC_GROUP_CLAIM', 'groups'),
  ),
  oidc_groups: describedSetting(
    'The rights that each group of the OpenID provider gives. Other groups give none.',
    optionalSetting(
      setting('MULTIHUB_OIDC_GROUPS', 'groups such as finance=money+reveal,admins=admin, each once', GROUPS),
    ),
  ),
} as const

/** The OpenID provider of a process with the rights of its groups; `undefined` without one. Throws `ConfigError`. */
export function openIdOf({
  url,
  oidc_issuer: issuer,
  oidc_client_id: client_id,
  oidc_client_secret: client_secret,
  oidc_scopes: scopes,
  oidc_group_claim: group_claim,
  oidc_groups: group_rights,
}: Config<typeof SIGN_IN_SETTINGS>): { options: OpenIdOptions; group_rights: GroupRights } | undefined {
  if (issuer === undefined) return undefined
  if (url === undefined || client_id === undefined || group_rights === undefined)
    throw new ConfigError([
      'MULTIHUB_OIDC_ISSUER needs MULTIHUB_BACKOFFICE_URL, MULTIHUB_OIDC_CLIENT_ID and MULTIHUB_OIDC_GROUPS',
    ])
  const redirect_url = `${new URL(url).origin}/session/callback`
  return { options: { issuer, client_id, client_secret, scopes, group_claim, redirect_url }, group_rights }
}
