import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { cleanText } from '#lib/contract/clean-text.ts'
import { type Address, addressOf, shortId } from '../../values/addresses.ts'

/** Text that somebody else wrote, on one line: control characters are replaced, and its direction stays inside. */
export function Text({ children }: { readonly children: string }): ReactNode {
  return <bdi>{cleanText(children)}</bdi>
}

/** Text that somebody else wrote, with its lines. */
export function Lines({ children }: { readonly children: string }): ReactNode {
  return (
    <bdi className="lines">
      {children
        .split(/\r\n|[\n\u2028\u2029]/)
        .map(cleanText)
        .join('\n')}
    </bdi>
  )
}

/** A link to a page of the console. */
export function PageLink({
  to,
  children,
  className,
}: {
  readonly to: Address
  readonly children: ReactNode
  readonly className?: string
}): ReactNode {
  return (
    <Link to={to.path} search={(to.search ?? {}) as never} {...(className && { className })}>
      {children}
    </Link>
  )
}

/** An id, shortened in the middle: a link where its kind has a page, and copied by a click on the button next to it. */
export function Id({ kind, children: id }: { readonly kind?: string; readonly children: string }): ReactNode {
  const address = kind === undefined ? undefined : addressOf(kind, id)
  const short = <code title={cleanText(id)}>{cleanText(shortId(id))}</code>
  return (
    <span className="id">
      {address === undefined ? short : <PageLink to={address}>{short}</PageLink>}
      <CopyButton text={id} />
    </span>
  )
}

function CopyButton({ text }: { readonly text: string }): ReactNode {
  const [is_copied, setCopied] = useState(false)
  // Browsers have a clipboard only with TLS or on this machine.
  if (!globalThis.isSecureContext) return null
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
  }
  return (
    <button
      type="button"
      className="copy"
      tabIndex={-1}
      title="Copy"
      aria-label={`Copy ${cleanText(shortId(text))}`}
      onClick={() => void copy()}
      onMouseLeave={() => setCopied(false)}
    >
      {is_copied ? '✓' : <CopyIcon />}
    </button>
  )
}

function CopyIcon(): ReactNode {
  return (
    <svg viewBox="0 0 12 12" width="11" height="11" fill="none" stroke="currentColor" aria-hidden="true">
      <path d="M4.5 4.5h6v6h-6zM7.5 2.5v-1h-6v6h1" />
    </svg>
  )
}
