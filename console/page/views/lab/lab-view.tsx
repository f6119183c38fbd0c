/** Lab: the cluster's clock, faults, processes and scenarios, for trying out what happens; monitors; and what `skiff explore` has found. */
import { info } from '../../app/live.ts'
import { at } from '../../app/time.ts'
import { Clock } from './clock.tsx'
import { Components } from './components.tsx'
import { Faults } from './faults.tsx'
import { Findings } from './finding/findings.tsx'
import { Monitors } from './monitors.tsx'
import { Scenarios } from './scenarios.tsx'
import { Snapshots } from './snapshots.tsx'

export function LabView() {
  const missing = info.value?.missing['control']
  const isFixed = at.value !== undefined
  return (
    <>
      <h1>Lab</h1>
      <div class="sections">
        {missing !== undefined ? (
          <p class="empty">No processes, clock or faults to control: {missing}.</p>
        ) : info.value === undefined ? null : (
          <>
            <Clock isFixed={isFixed} />
            <Faults isFixed={isFixed} />
            <Components isFixed={isFixed} />
            <Scenarios isFixed={isFixed} />
            <Snapshots />
          </>
        )}
        <Monitors />
        <Findings />
      </div>
    </>
  )
}
