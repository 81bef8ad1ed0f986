import { type FormEvent, type ReactNode, useState } from 'react'
import { beginSession, OPEN_ID_PATH } from '../call/session.ts'
import { refreshSession } from '../call/use-rpc.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { useTitle } from '../parts/title.ts'

/** The page without a session (O13): one field, and a button where people can sign in by OpenID Connect. */
export function SignIn({ has_oidc }: { readonly has_oidc: boolean }): ReactNode {
  const [token, setToken] = useState('')
  const [error, setError] = useState<unknown>()
  const [is_busy, setBusy] = useState(false)
  useTitle('Sign in')
  const signIn = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      await beginSession(token.trim())
      await refreshSession()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <main className="sign-in">
      <h1>Multihub</h1>
      <form onSubmit={(event) => void signIn(event)}>
        <label htmlFor="token">Token</label>
        <input
          id="token"
          type="password"
          autoComplete="current-password"
          required
          // biome-ignore lint/a11y/noAutofocus: it is the only field of the page
          autoFocus
          value={token}
          onChange={({ target }) => setToken(target.value)}
        />
        <button type="submit" className="main" disabled={is_busy}>
          {is_busy ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
      {has_oidc && (
        <a className="button" href={OPEN_ID_PATH}>
          Sign in with OpenID Connect
        </a>
      )}
      {error !== undefined && <ProblemNote error={error} />}
      <p className="quiet">
        A token begins with <code>mhp_</code>. An administrator creates it. The token of the demonstration is{' '}
        <code>operator.token</code> in <code>.local/demo.json</code>.
      </p>
    </main>
  )
}
