import { type ReactNode, useEffect, useId, useRef } from 'react'

/** A modal dialog of the browser, which keeps the focus inside and ends with Escape. */
export function Dialog({
  title,
  onClose,
  is_kept = false,
  children,
}: {
  readonly title: string
  readonly onClose: () => void
  /** Whether Escape does not end it: something is under way, or shown once. */
  readonly is_kept?: boolean
  readonly children: ReactNode
}): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null)
  const title_id = useId()
  useEffect(() => {
    const opened = dialog.current
    opened?.showModal()
    // Closing gives the focus back to where it was.
    return () => opened?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={title_id}
      onCancel={(event) => {
        // A field for a file has an event of this name too.
        if (event.target !== event.currentTarget) return
        event.preventDefault()
        if (!is_kept) onClose()
      }}
      // A browser closes a dialog at the second Escape, whatever the page says.
      onClose={onClose}
    >
      <h2 id={title_id}>{title}</h2>
      {children}
    </dialog>
  )
}
