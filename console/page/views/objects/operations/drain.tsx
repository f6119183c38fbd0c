/** Drain: cordons a node and evicts its pods, as `kubectl drain --ignore-daemonsets`. Leaving stops it; what was evicted stays so. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Pod } from '../../../../../components/api/generated/types.ts'
import { dialects, labelKey } from '../../../../../components/api/dialect.ts'
import { info } from '../../../app/live.ts'
import { readAll } from '../../../app/read-all.ts'
import { drainNode } from './drain-node.ts'
import { planDrain, podKey, type DrainPlan, type PodReason } from './drain-plan.ts'
import { OperationFrame } from './operation-frame.tsx'
import type { OperationProps } from './operation-props.ts'
import { useSending } from './use-sending.ts'

function Reasons({ title, pods }: { readonly title: string; readonly pods: readonly PodReason[] }) {
  if (pods.length === 0) return null
  return (
    <>
      <p>{title}</p>
      <ul>
        {pods.map(({ key, why }) => (
          <li key={`${key} ${why}`}>
            {key} <span class="dim">{why}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly isChosen: boolean
  readonly onChange: (isChosen: boolean) => void
}

function Choice({ label, isChosen, onChange }: ChoiceProps) {
  return (
    <label>
      <input
        type="checkbox"
        checked={isChosen}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />{' '}
      {label}
    </label>
  )
}

function Plan({
  plan: { evicted, left, obstacles },
  states,
}: {
  readonly plan: DrainPlan
  readonly states: ReadonlyMap<string, string>
}) {
  return (
    <>
      <p>
        The node takes no more pods, and the pods on it that are evicted: {evicted.length}
        {evicted.length === 0 ? '.' : '; their controllers make others elsewhere.'}
      </p>
      <ul aria-label="Pods that are evicted">
        {evicted.map((pod) => (
          <li key={podKey(pod)}>
            {podKey(pod)} <span class="dim">{states.get(podKey(pod))}</span>
          </li>
        ))}
      </ul>
      <Reasons title="Pods that stay:" pods={left} />
      <Reasons title="Choose below to evict them nevertheless:" pods={obstacles} />
    </>
  )
}

/** The pods of a node, and the drain of some of them. It ends when the view is left. */
function useDrain(node: string, path: string) {
  const [pods, setPods] = useState<readonly Pod[]>()
  const [states, setStates] = useState<ReadonlyMap<string, string>>(new Map())
  const [outcome, setOutcome] = useState('')
  const sending = useSending()
  const left = useRef(new AbortController())
  useEffect(() => {
    const { signal } = left.current
    const query = { fieldSelector: `spec.nodeName=${node}` }
    sending.run(
      async () => {
        const items: readonly unknown[] = await readAll('/api/v1/pods', { query, signal })
        setPods(items as readonly Pod[])
      },
      () => {},
    )
    return () => left.current.abort(new Error('the drain was left'))
  }, [node])
  const drain = (evicted: readonly Pod[]): void => {
    const { signal } = left.current
    const onPod = (key: string, state: string): void =>
      setStates((known) => new Map(known).set(key, state))
    setOutcome('Draining')
    sending.run(
      async () => {
        const isDrained = await drainNode(path, evicted, { onPod, signal })
        setOutcome(isDrained ? `${node} is drained.` : 'Not every pod was evicted.')
      },
      () => {},
    )
  }
  return { pods, states, outcome, sending, drain }
}

export function Drain({ object, path, onLeave }: OperationProps) {
  const { name = '' } = object.metadata
  const [force, setForce] = useState(false)
  const [deleteEmptyDirData, setDelete] = useState(false)
  const { pods, states, outcome, sending, drain } = useDrain(name, path)
  const dialect = dialects[info.value?.dialect ?? 'kubernetes']
  const mirrorAnnotation = labelKey(dialect, '', 'config.mirror')
  const plan = pods && planDrain(pods, { force, deleteEmptyDirData, mirrorAnnotation })
  return (
    <OperationFrame
      title={`Drain ${name}`}
      label="Drain"
      isDisabled={sending.isSending || plan === undefined || plan.obstacles.length > 0}
      fault={sending.fault}
      onConfirm={() => drain(plan?.evicted ?? [])}
      onLeave={onLeave}
    >
      {plan === undefined ? (
        <p class="empty">Looking for its pods</p>
      ) : (
        <Plan plan={plan} states={states} />
      )}
      <fieldset>
        <legend>Also evict</legend>
        <Choice label="pods without a controller" isChosen={force} onChange={setForce} />
        <Choice
          label="pods with emptyDir data, which is lost"
          isChosen={deleteEmptyDirData}
          onChange={setDelete}
        />
      </fieldset>
      <p role="status">{sending.fault === undefined ? outcome : ''}</p>
    </OperationFrame>
  )
}
