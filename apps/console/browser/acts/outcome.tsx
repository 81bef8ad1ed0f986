import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Outcome } from '../../forms/act.ts'
import { Lines } from '../parts/text.tsx'

/** What an act does or did, one sentence after the other. */
export function Sentences({ children }: { readonly children: readonly string[] }): ReactNode {
  return (
    <ul className="effects">
      {children.map((sentence) => (
        <li key={sentence}>
          <Lines>{sentence}</Lines>
        </li>
      ))}
    </ul>
  )
}

/** The answer to a question that changes nothing. */
export function Answer({ outcome: { sentences = [] } }: { readonly outcome: Outcome }): ReactNode {
  return (
    <div role="status" className="note">
      <Sentences>{sentences}</Sentences>
    </div>
  )
}

/** What the server has confirmed. A secret is shown here, and nowhere again. */
export function Done({
  outcome,
  onClose,
}: {
  readonly outcome: Outcome
  readonly onClose: () => void
}): ReactNode {
  const { secret = '', sentences = [], address } = outcome
  const navigate = useNavigate()
  return (
    <>
      <p role="status">Done: the server has confirmed it.</p>
      {sentences.length > 0 && <Sentences>{sentences}</Sentences>}
      {secret !== '' && <Secret>{secret}</Secret>}
      <div className="acts">
        {/* Another page would forget a secret that is shown once. */}
        {address !== undefined && secret === '' && (
          <button
            type="button"
            className="main"
            // biome-ignore lint/a11y/noAutofocus: the form that had the focus is gone
            autoFocus
            onClick={() => {
              onClose()
              void navigate({ to: address.path, search: (address.search ?? {}) as never })
            }}
          >
            Show it
          </button>
        )}
        <button
          type="button"
          className={address === undefined || secret !== '' ? 'main' : ''}
          // biome-ignore lint/a11y/noAutofocus: the form that had the focus is gone
          autoFocus={secret === '' && address === undefined}
          onClick={onClose}
        >
          {secret === '' ? 'Close' : 'I have kept it: close'}
        </button>
      </div>
    </>
  )
}

function Secret({ children: secret }: { readonly children: string }): ReactNode {
  const [is_copied, setCopied] = useState(false)
  return (
    <div className="note waiting">
      It is shown once, and cannot be read again. Copy it now:
      <p className="secret">
        <code>{secret}</code>
        {/* Browsers have a clipboard only with TLS or on this machine. */}
        {globalThis.isSecureContext && (
          <button
            type="button"
            // biome-ignore lint/a11y/noAutofocus: the form that had the focus is gone
            autoFocus
            onClick={() => void navigator.clipboard.writeText(secret).then(() => setCopied(true))}
          >
            {is_copied ? 'Copied ✓' : 'Copy'}
          </button>
        )}
      </p>
    </div>
  )
}
