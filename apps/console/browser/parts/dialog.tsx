import { type ReactNode, useEffect, useId, useRef } from 'react'

/** A modal dialog of the browser, which keeps the focus inside and ends with Escape. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string
  readonly onClose: () => void
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
    <dialog ref={dialog} aria-labelledby={title_id} onCancel={onClose}>
      <h2 id={title_id}>{title}</h2>
      {children}
    </dialog>
  )
}
