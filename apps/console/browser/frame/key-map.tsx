import type { ReactNode } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import type { NavigationItem } from './navigation.ts'

const KEYS = [
  ['/', 'search'],
  ['j  k', 'next and previous row'],
  ['Enter', 'open the row'],
  ['e', 'act on what is open'],
  ['n …', 'new: the keys are on the buttons'],
  ['Esc', 'close'],
  ['?', 'this map'],
] as const

/** The map of keys. */
export function KeyMap({
  pages,
  onClose,
}: {
  readonly pages: readonly Pick<NavigationItem, 'key' | 'label'>[]
  readonly onClose: () => void
}): ReactNode {
  const rows = [...KEYS, ...pages.map(({ key, label }) => [`g ${key}`, label] as const)]
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="keys">
        {rows.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={onClose}>
        Close
      </button>
    </Dialog>
  )
}
