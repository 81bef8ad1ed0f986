import type { ReactNode } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import type { NavigationItem } from './navigation.ts'
import { PreferenceChoice } from './preference-choice.tsx'

const KEYS = [
  ['/', 'search'],
  ['j  k', 'next and previous row'],
  ['Enter', 'open the row'],
  ['e', 'act on what is open'],
  ['n …', 'new: the keys are on the buttons'],
  ['Esc', 'close'],
  ['?', 'this map'],
] as const

/** The map of keys, and the preferences for which a narrow page has no room elsewhere. */
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
      <p className="tools">
        <PreferenceChoice />
      </p>
      <button type="button" onClick={onClose}>
        Close
      </button>
    </Dialog>
  )
}
