/** Components: the cluster's processes, and what can be done to them. */
import { useState } from 'preact/hooks'
import { freeNodeName } from '../../../../cluster/free-node-name.ts'
import type { ComponentAction } from '../../../protocol/lab.ts'
import type { ComponentRow } from '../../../protocol/live.ts'
import { age } from '../../app/time.ts'
import { useChannel } from '../../app/use-live.ts'
import { Ended } from '../../parts/ended.tsx'
import { TableFrame } from '../../parts/table-frame.tsx'
import { useRealNow } from '../../parts/use-now.ts'
import { actionsOf, inOrder, needsConfirmation, stateTone } from './component-actions.ts'
import { useActions, type Actions } from './use-actions.ts'

interface RowProps {
  readonly row: ComponentRow
  readonly nowMs: number
  readonly isFixed: boolean
  readonly actions: Actions
}

function Buttons({ row, actions, isFixed }: Omit<RowProps, 'nowMs'>) {
  const { name } = row
  const [asked, setAsked] = useState<ComponentAction>()
  const act = (action: ComponentAction): void => {
    setAsked(undefined)
    void actions.act(name, action)
  }
  if (asked !== undefined) {
    return (
      <span role="group" aria-label={`${asked} ${name}?`}>
        The page loses its connection and reconnects when the server is back.{' '}
        <button type="button" class="danger" onClick={() => act(asked)}>
          {asked} {name}
        </button>{' '}
        <button type="button" onClick={() => setAsked(undefined)}>
          Cancel
        </button>
      </span>
    )
  }
  return (
    <span class="buttons" role="group" aria-label={`Actions for ${name}`}>
      {actionsOf(row).map((action) => (
        <button
          key={action}
          type="button"
          aria-label={`${action} ${name}`}
          disabled={isFixed || actions.busy.has(name)}
          onClick={() => (needsConfirmation(row, action) ? setAsked(action) : act(action))}
        >
          {action}
        </button>
      ))}
    </span>
  )
}

function Row(props: RowProps) {
  const { row, nowMs } = props
  const { name, program, state, pid, restarts, sinceMs, message } = row
  return (
    <tr>
      <th scope="row">
        {name}
        {program !== name && <span class="dim"> {program}</span>}
      </th>
      {/* A new key lets what just changed glow. */}
      <td key={`${state}-${sinceMs}`} class={`tone-${stateTone(state)} glows`}>
        {state}
        {message !== undefined && <div class="dim">{message}</div>}
      </td>
      <td>{age(sinceMs, nowMs)}</td>
      <td class="restarts">{restarts}</td>
      <td class="pid">{pid}</td>
      <td>{program === 'console' ? <span class="dim">this page</span> : <Buttons {...props} />}</td>
    </tr>
  )
}

function AddNode({
  rows,
  actions,
  isFixed,
}: {
  readonly rows: readonly ComponentRow[]
  readonly actions: Actions
  readonly isFixed: boolean
}) {
  const [name, setName] = useState('')
  const free = freeNodeName(rows.map((row) => row.name))
  const wanted = name.trim() || free
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault()
        setName('')
        void actions.act(wanted, 'add')
      }}
    >
      <label>
        New node{' '}
        <input
          value={name}
          placeholder={free}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={isFixed || actions.busy.has(wanted)}>
        Add node
      </button>
      <a href="#/join">See nodes join</a>
    </form>
  )
}

/** `isFixed`: nothing can be done now, because the page shows the past. */
export function Components({ isFixed }: { readonly isFixed: boolean }) {
  const live = useChannel('components')
  const actions = useActions()
  const nowMs = useRealNow(1000)
  const rows = inOrder(live.rows.values())
  return (
    <section aria-labelledby="components">
      <h2 id="components">Components</h2>
      <Ended live={live} what="components" />
      <TableFrame
        label="Table of components"
        columns={['Name', 'State', 'Since', 'Restarts', 'PID', 'Actions']}
        className="components"
      >
        {rows.map((row) => (
          <Row key={row.name} {...{ row, nowMs, isFixed, actions }} />
        ))}
      </TableFrame>
      <AddNode {...{ rows, actions, isFixed }} />
      <p role="alert" class="lab-fault tone-bad">
        {actions.fault}
      </p>
    </section>
  )
}
