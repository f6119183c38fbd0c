/** ObjectPage: one object, in tabs. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { apiPath, listPlace, type ObjectName } from '../../../app/object-place.ts'
import { linkTo, place } from '../../../app/router.ts'
import { at } from '../../../app/time.ts'
import { DeleteObject } from '../edit/delete-object.tsx'
import type { Kind } from '../kinds/kinds.ts'
import { qualifiedName } from '../kinds/kinds.ts'
import { goToQuery } from '../list/list-toolbar.tsx'
import { OperationView } from '../operations/operation-view.tsx'
import { operationsOf, type Operation } from '../operations/operations.ts'
import { FieldsTab } from './fields-tab.tsx'
import { HistoryTab } from './history-tab.tsx'
import { OverviewTab } from './overview-tab.tsx'
import { OwnersTab } from './owners-tab.tsx'
import { StreamTab } from './stream-tab.tsx'
import { TreeTab } from './tree-tab.tsx'
import { useObject, type LiveObject } from './use-object.ts'
import { YamlTab } from './yaml-tab.tsx'

const titles = {
  overview: 'Overview',
  tree: 'Tree',
  yaml: 'YAML',
  owners: 'Owners',
  fields: 'Fields',
  history: 'History',
  log: 'Log',
  shell: 'Shell',
} as const
type Tab = keyof typeof titles

function tabsOf({ kind, verbs, subresources }: Kind): Tab[] {
  const isPod = kind === 'Pod'
  return (Object.keys(titles) as Tab[]).filter((tab) => {
    if (tab === 'log') return isPod && subresources.includes('log')
    if (tab === 'shell') return isPod && subresources.includes('exec')
    return tab !== 'history' || verbs.includes('watch')
  })
}

interface TabListProps {
  readonly tabs: readonly Tab[]
  readonly current: Tab
}

/** Arrow keys go from tab to tab (ARIA Authoring Practices, Tabs). */
function TabList({ tabs, current }: TabListProps) {
  const list = useRef<HTMLDivElement>(null)
  const go = (tab: Tab): void => goToQuery({ tab: tab === 'overview' ? undefined : tab })
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    const next = tabs.at((tabs.indexOf(current) + step) % tabs.length)
    if (step === 0 || next === undefined) return
    event.preventDefault()
    go(next)
    list.current?.querySelector<HTMLElement>(`#tab-${next}`)?.focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label="About the object" ref={list} onKeyDown={onKeyDown}>
      {tabs.map((tab) => (
        <button
          key={tab}
          id={`tab-${tab}`}
          type="button"
          role="tab"
          aria-selected={tab === current}
          aria-controls="tab-panel"
          tabIndex={tab === current ? 0 : -1}
          onClick={() => go(tab)}
        >
          {titles[tab]}
        </button>
      ))}
    </div>
  )
}

interface PanelProps {
  readonly tab: Tab
  readonly kinds: readonly Kind[]
  readonly kind: Kind
  readonly name: ObjectName
  readonly live: LiveObject
}

function Panel({ tab, kinds, kind, name, live }: PanelProps) {
  const { object, changed, change } = live
  if (object === undefined) return null
  const path = apiPath(kind, name)
  switch (tab) {
    case 'overview':
      return <OverviewTab object={object} isPod={kind.kind === 'Pod'} />
    case 'tree':
      return <TreeTab {...{ object, changed, change }} />
    case 'yaml':
      return <YamlTab {...{ object, path }} canEdit={kind.verbs.includes('update')} />
    case 'owners':
      return <OwnersTab {...{ kinds, object }} />
    case 'fields':
      return <FieldsTab object={object} />
    case 'history':
      return <HistoryTab {...{ kind, name, object }} />
    case 'log':
    case 'shell':
      return <StreamTab key={tab} object={object} shows={tab} />
    default:
      return null
  }
}

const buttonTexts = {
  scale: 'Scale',
  restart: 'Restart',
  drain: 'Drain',
  uncordon: 'Uncordon',
  delete: 'Delete',
} as const
type Chosen = Operation | 'delete'

interface ButtonsProps {
  readonly offered: readonly Chosen[]
  readonly chosen: Chosen | undefined
  readonly onChoose: (chosen: Chosen | undefined) => void
}

function Buttons({ offered, chosen, onChoose }: ButtonsProps) {
  return (
    <span class="buttons">
      {offered.map((one) => (
        <button
          key={one}
          type="button"
          disabled={at.value !== undefined}
          aria-expanded={one === chosen}
          onClick={() => onChoose(one === chosen ? undefined : one)}
        >
          {buttonTexts[one]}
        </button>
      ))}
    </span>
  )
}

export interface ObjectPageProps {
  readonly kinds: readonly Kind[]
  readonly kind: Kind
  readonly name: ObjectName
}

export function ObjectPage({ kinds, kind, name }: ObjectPageProps) {
  const live = useObject(kind, name)
  const { object, isGone, fault } = live
  const [chosen, setChosen] = useState<Chosen>()
  const tabs = tabsOf(kind)
  const tab = tabs.find((one) => one === place.value.query.get('tab')) ?? 'overview'
  useEffect(() => setChosen(undefined), [isGone])
  const offered: Chosen[] =
    object === undefined || isGone
      ? []
      : [
          ...operationsOf(kind, object),
          ...(kind.verbs.includes('delete') ? (['delete'] as const) : []),
        ]
  const asked = { path: apiPath(kind, name), onLeave: () => setChosen(undefined) }
  return (
    <>
      <p class="crumbs">
        <a href={linkTo(listPlace(kind), { namespace: name.namespace })}>{qualifiedName(kind)}</a>
        {name.namespace !== undefined && ` in ${name.namespace}`}
      </p>
      <div class="object-head">
        <h1>
          {name.name} <small>{kind.kind}</small>
          {object !== undefined && (
            <span key={live.change} class="count glow-odd glow-self">
              revision {object.metadata.resourceVersion}
            </span>
          )}
        </h1>
        <Buttons {...{ offered, chosen }} onChoose={setChosen} />
      </div>
      {fault !== undefined && (
        <p class="fault" role="alert">
          {isGone && object !== undefined
            ? 'The object has been deleted: this is its last version. '
            : ''}
          {fault}
        </p>
      )}
      {chosen === 'delete' && object !== undefined && (
        <DeleteObject {...{ kinds, object }} {...asked} />
      )}
      {chosen !== undefined && chosen !== 'delete' && object !== undefined && (
        <OperationView key={chosen} operation={chosen} object={object} {...asked} />
      )}
      {object !== undefined && (
        <>
          <TabList tabs={tabs} current={tab} />
          <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab}`} class="tab-panel">
            <Panel key={tab} {...{ tab, kinds, kind, name, live }} />
          </div>
        </>
      )}
    </>
  )
}
