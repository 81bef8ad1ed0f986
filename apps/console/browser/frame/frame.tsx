import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useRef, useState } from 'react'
import type { Principal } from '#gen/multihub/backoffice/v1/principal_pb.ts'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { ActDialogs } from '../acts/open-dialog.tsx'
import { endSession } from '../call/session.ts'
import { forgetSession, useRpc, useSession } from '../call/use-rpc.ts'
import { useKeys } from '../parts/keys.ts'
import { MerchantZone } from '../parts/merchant-zone.tsx'
import { prefer, usePreference } from '../parts/preferences.ts'
import { PrincipalContext, useRights } from '../parts/principal.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { PageLink, Text } from '../parts/text.tsx'
import { KeyMap } from './key-map.tsx'
import type { NavigationItem } from './navigation.ts'
import { SignIn } from './sign-in.tsx'

/** A revoked session is out within 2 s: the server may answer from a cache for 1 s, so the question comes every second. */
const WHO_AM_I_MS = 1_000

/** The frame of every page, or the page to sign in. */
export function Frame({ pages }: { readonly pages: readonly NavigationItem[] }): ReactNode {
  const { data: session, error } = useSession()
  // A later failure must not replace the page, which may have a dialog whose act was not answered.
  if (session === undefined) return error && <ProblemNote error={error} />
  return session.signed_in ? <SignedIn pages={pages} /> : <SignIn has_oidc={session.oidc} />
}

function SignedIn({ pages }: { readonly pages: readonly NavigationItem[] }): ReactNode {
  const { data, error } = useRpc(PrincipalService.method.whoAmI, {}, { every_ms: WHO_AM_I_MS })
  if (data?.principal === undefined) return error && <ProblemNote error={error} />
  return (
    <PrincipalContext value={data.principal}>
      {error !== null && (
        <div className="note waiting">The back office does not answer. What is shown may be old.</div>
      )}
      <MerchantZone merchant_id={data.principal.merchantId}>
        <ActDialogs>
          <Layout pages={pages} principal={data.principal} />
        </ActDialogs>
      </MerchantZone>
    </PrincipalContext>
  )
}

function Layout({
  pages,
  principal,
}: {
  readonly pages: readonly NavigationItem[]
  readonly principal: Principal
}): ReactNode {
  const { may, is_merchant } = useRights()
  const [shows_keys, setShowsKeys] = useState(false)
  const navigate = useNavigate()
  const search = useRef<HTMLInputElement>(null)
  const content = useRef<HTMLElement>(null)
  const own = [
    ...pages.filter(({ right, for_merchants }) => may(right) && (for_merchants || !is_merchant)),
    ...(is_merchant ? [{ path: `/merchants/${principal.merchantId}`, label: 'Setup', key: 'm' }] : []),
  ]
  useKeys({
    '/': () => search.current?.select(),
    '?': () => setShowsKeys(true),
    ...Object.fromEntries(own.map(({ key, path }) => [`g ${key}`, () => void navigate({ to: path })])),
  })
  return (
    <>
      <button type="button" className="skip" onClick={() => content.current?.focus()}>
        Skip to the content
      </button>
      <header className="bar">
        <PageLink to={{ path: '/overview' }} className="brand">
          Multihub
        </PageLink>
        <SearchBox field={search} />
        <Preferences />
        <button type="button" onClick={() => setShowsKeys(true)} title="Keys">
          ?
        </button>
        <Account principal={principal} />
      </header>
      <div className="frame">
        <nav aria-label="Pages">
          {own.map(({ path, label, key }) => (
            <PageLink key={path} to={{ path }}>
              <span>{label}</span> <kbd>g {key}</kbd>
            </PageLink>
          ))}
        </nav>
        <main id="content" ref={content} tabIndex={-1}>
          <Outlet />
        </main>
      </div>
      {shows_keys && <KeyMap pages={own} onClose={() => setShowsKeys(false)} />}
    </>
  )
}

function SearchBox({ field }: { readonly field: React.RefObject<HTMLInputElement | null> }): ReactNode {
  const navigate = useNavigate()
  const shown = useRouterState({
    select: ({ location: { pathname, search } }) => (pathname === '/search' ? String(search.q ?? '') : ''),
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const q = field.current?.value.trim() ?? ''
    field.current?.blur()
    if (q !== '') void navigate({ to: '/search', search: { q } as never })
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: browsers announce the form, and not all know the element search
    <form role="search" onSubmit={submit}>
      <input
        key={shown}
        ref={field}
        defaultValue={shown}
        type="search"
        aria-label="Search any id"
        placeholder="/ search any id or merchant"
        spellCheck={false}
      />
    </form>
  )
}

function Preferences(): ReactNode {
  const theme = usePreference('theme')
  const zone = usePreference('zone')
  return (
    <>
      <select
        aria-label="Time zone"
        value={zone}
        onChange={({ target }) => prefer('zone', target.value as typeof zone)}
        className="wide"
      >
        <option value="local">local time</option>
        <option value="UTC">UTC</option>
        <option value="merchant">merchant's time</option>
      </select>
      <select
        aria-label="Colours"
        value={theme}
        onChange={({ target }) => prefer('theme', target.value as typeof theme)}
        className="wide"
      >
        <option value="system">system colours</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </>
  )
}

function Account({ principal: { name, merchantId } }: { readonly principal: Principal }): ReactNode {
  const [error, setError] = useState<unknown>()
  const signOut = async (): Promise<void> => {
    try {
      await endSession()
      forgetSession()
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <span className="account">
      <span className="wide">
        <Text>{name}</Text>
        {merchantId !== '' && ' (one merchant)'}
      </span>
      <button type="button" onClick={() => void signOut()}>
        Sign out
      </button>
      {error !== undefined && <ProblemNote error={error} />}
    </span>
  )
}
