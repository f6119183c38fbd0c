/** StreamTab: the log of a pod's container, or a shell in it. */
import { useState } from 'preact/hooks'
import type { KubeObject } from '../../../../../components/machinery/objects/object.ts'
import { PodLog } from '../../../parts/log.tsx'
import { PodShell } from '../../../parts/shell.tsx'
import { containersOf } from './containers.ts'

export interface StreamTabProps {
  readonly object: KubeObject
  readonly shows: 'log' | 'shell'
}

export function StreamTab({ object, shows }: StreamTabProps) {
  const containers = containersOf(object)
  const first = containers.find(({ is }) => is === 'container')?.name ?? ''
  const [chosen, setChosen] = useState(first)
  const { name: pod = '', namespace = '' } = object.metadata
  const place = { namespace, pod, container: chosen }
  const key = `${namespace}/${pod}/${chosen}`
  return (
    <>
      {containers.length > 1 && (
        <label>
          Container{' '}
          <select value={chosen} onChange={({ currentTarget }) => setChosen(currentTarget.value)}>
            {containers.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
      {shows === 'log' ? <PodLog key={key} {...place} /> : <PodShell key={key} {...place} />}
    </>
  )
}
