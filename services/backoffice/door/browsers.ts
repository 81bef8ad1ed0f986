import type { Config } from '#lib/base/config/config.ts'
import type { RoleContext } from '#lib/role/role.ts'
import type { Principal } from '../domain/principal.ts'
import { createSessions } from '../sessions/sessions.ts'
import { createSite } from '../sessions/site.ts'
import { hasAdminGroup, rightsOfGroups } from '../sign-in/domain/group-rights.ts'
import { createOpenId } from '../sign-in/open-id.ts'
import { openIdOf, type SIGN_IN_SETTINGS } from '../sign-in/open-id-settings.ts'
import type { BackofficeStore } from '../store/backoffice-store.ts'
import { nameOfPerson, principalIdOf, signInPerson } from '../use-cases/sign-in-person.ts'
import { type AuthenticationSettings, createPrincipalAuthenticator } from './authenticate.ts'
import type { CountMerchantAct } from './merchant-acts.ts'
import type { ActOfSignIn } from './operator-call.ts'
import { createSessionPaths } from './session-paths.ts'
import { createSignInPaths } from './sign-in-paths.ts'

/** What a sign-in needs besides the provider: its entry in the audit trail, and the second person for new powers (O5). */
interface SignInRules {
  readonly actOfSignIn: ActOfSignIn
  readonly countMerchantAct: CountMerchantAct
  readonly held_back: {
    holdsBack(): Promise<boolean>
    propose(principal: Principal): Promise<void>
  }
}

/** How callers are recognized, and the paths by which people begin and end sessions. */
export function openBrowsers(
  { tls, keys, clock_guard }: RoleContext<'backoffice'>,
  config: Omit<AuthenticationSettings, 'has_admin_group'> & Config<typeof SIGN_IN_SETTINGS>,
  { principals, sessions: session_store }: Pick<BackofficeStore, 'principals' | 'sessions'>,
  { actOfSignIn, countMerchantAct, held_back }: SignInRules,
) {
  const site = createSite({ url: config.url, has_tls: tls !== undefined })
  const sessions = createSessions(session_store)
  const provider = openIdOf(config)
  const has_admin_group = provider !== undefined && hasAdminGroup(provider.group_rights)
  const authenticate = createPrincipalAuthenticator(
    { principals, sessions, site },
    { ...config, has_admin_group },
  )
  const session_paths = createSessionPaths({
    sessions,
    site,
    authenticate,
    actOfSignIn,
    countMerchantAct,
    has_oidc: provider !== undefined,
  })
  if (provider === undefined) return { authenticate, paths: session_paths, close: async () => {} }
  const open_id = createOpenId(provider.options)
  const sign_in_paths = createSignInPaths({
    open_id,
    signIn: ({ groups, ...person }, how) =>
      actOfSignIn(
        { principal_id: principalIdOf(person), name: nameOfPerson(person.name), ...how },
        async () => {
          const rights = rightsOfGroups(provider.group_rights, groups)
          const holds_back = await held_back.holdsBack()
          const principal = await signInPerson(principals, { ...person, rights }, { holds_back })
          await held_back.propose(principal)
          const { principal_id, name } = principal
          return { principal_id, name, secret: await sessions.begin({ principal_id }) }
        },
      ),
    site,
    keyring: keys.session,
    now_ms: clock_guard.store_now_ms,
  })
  return { authenticate, paths: [...session_paths, ...sign_in_paths], close: open_id.close }
}
