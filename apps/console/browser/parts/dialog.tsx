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
  const leave = useRef({ is_kept, onClose })
  leave.current = { is_kept, onClose }
  useEffect(() => {
    // A browser closes a dialog at the second Escape, whatever its event `cancel` says; and the focus can be outside of the dialog.
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || event.isComposing) return
      event.preventDefault()
      if (!leave.current.is_kept) leave.current.onClose()
    }
    document.addEventListener('keydown', onKeyDown, { capture: true })
    return () => document.removeEventListener('keydown', onKeyDown, { capture: true })
  }, [])
  useEffect(() => {
    const opened = dialog.current
    opened?.showModal()
    // Closing gives the focus back to where it was.
    return () => opened?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      closedby={is_kept ? 'none' : 'closerequest'}
      aria-labelledby={title_id}
      onCancel={(event) => {
        // A field for a file has an event of this name too.
        if (event.target !== event.currentTarget) return
        event.preventDefault()
        if (!is_kept) onClose()
      }}
      // Whatever else closes it must not forget what is shown once.
      onClose={({ target, currentTarget }) => {
        if (target !== currentTarget) return
        if (is_kept) currentTarget.showModal()
        else onClose()
      }}
    >
      <h2 id={title_id}>{title}</h2>
      {children}
    </dialog>
  )
}
