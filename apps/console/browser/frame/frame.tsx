import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useRef, useState } from 'react'
import type { Principal } from '#gen/multihub/backoffice/v1/principal_pb.ts'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { ActDialogs } from '../acts/open-dialog.tsx'
import { endSession } from '../call/session.ts'
import { forgetSession, useRpc, useSession } from '../call/use-rpc.ts'
import { useKeys } from '../parts/keys.ts'
import { MerchantZone } from '../parts/merchant-zone.tsx'
import { PrincipalContext, useRights } from '../parts/principal.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { PageLink, Text } from '../parts/text.tsx'
import { KeyMap } from './key-map.tsx'
import type { NavigationItem } from './navigation.ts'
import { PreferenceChoice } from './preference-choice.tsx'
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
        {/* Nothing that one person has revealed is left for the next one. */}
        <ActDialogs key={data.principal.principalId}>
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
        <PageLink to={{ path: '/' }} className="brand">
          Multihub
        </PageLink>
        <SearchBox field={search} />
        <PreferenceChoice className="wide" />
        <button type="button" onClick={() => setShowsKeys(true)} title="Keys, time zone and colours">
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
