/** Objects: any kind as tables and single objects. */
import { useState } from 'preact/hooks'
import { parseObjectPlace } from '../../app/object-place.ts'
import { place } from '../../app/router.ts'
import { findKind, listedKinds, type Kind } from './kinds/kinds.ts'
import { KindList } from './kinds/kind-list.tsx'
import { useKinds } from './kinds/use-kinds.ts'
import { NewObject } from './edit/new-object.tsx'
import { ObjectPage } from './object/object-page.tsx'
import { ObjectList } from './list/object-list.tsx'

const pods = { group: '', version: 'v1', plural: 'pods' }

function Content({ kinds }: { readonly kinds: readonly Kind[] }) {
  if (place.value.parts[1] === 'new') return <NewObject kinds={kinds} />
  const parsed = parseObjectPlace(place.value.parts) ?? { kind: pods, object: undefined }
  const kind = findKind(kinds, parsed.kind)
  if (kind === undefined) {
    const { group, version, plural } = parsed.kind
    const name = [plural, version, group].filter(Boolean).join('.')
    return (
      <p class="empty" role="status">
        The server does not serve {name}, or not to you.
      </p>
    )
  }
  if (parsed.object !== undefined) {
    const { namespace, name } = parsed.object
    const key = [kind.group, kind.plural, namespace, name].join('/')
    return <ObjectPage key={key} kinds={kinds} kind={kind} name={parsed.object} />
  }
  return <ObjectList key={`${kind.group}/${kind.plural}`} kind={kind} />
}

export function ObjectsView() {
  const known = useKinds()
  const [isOpen, setOpen] = useState(false)
  const { parts, query } = place.value
  const current = parseObjectPlace(parts)?.kind ?? pods
  const namespace = query.get('namespace') ?? ''
  const { kinds } = known
  return (
    <div class="objects">
      <button
        type="button"
        class="kinds-switch"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        Kinds{kinds === undefined ? '' : ` (${listedKinds(kinds).length})`}
      </button>
      <div
        class={isOpen ? 'kinds-pane open' : 'kinds-pane'}
        onClick={({ target }) => target instanceof HTMLAnchorElement && setOpen(false)}
      >
        <KindList {...known} {...{ current, namespace }} />
      </div>
      <div class="objects-content">
        {kinds === undefined ? (
          <p class="empty" role="status">
            Reading the kinds that the server serves
          </p>
        ) : (
          <Content kinds={kinds} />
        )}
      </div>
    </div>
  )
}
