/** Clock: what time it is in the cluster, and the levers of its clock. */
import { useEffect, useState } from 'preact/hooks'
import type { TimeRow } from '../../../protocol/live.ts'
import { noteClusterTime } from '../../app/cluster-time.ts'
import { age } from '../../app/time.ts'
import { useChannel } from '../../app/use-live.ts'
import { Ended } from '../../parts/ended.tsx'
import { callClock, clockCall, stopClock, type ClockCall } from './clock-call.ts'

const speeds = ['0.1', '1', '10', '60', '600']
const advances = ['10s', '1m', '10m', '1h']

/** `paused, 10m ahead of real time`. */
function paceText({ speed, aheadMs }: TimeRow): string {
  const pace =
    speed === 0 ? 'paused' : speed === 1 ? 'as fast as real time' : `${speed} times as fast`
  if (Math.abs(aheadMs) < 1000) return pace
  const way = aheadMs > 0 ? 'ahead of' : 'behind'
  return `${pace}, ${age(0, Math.abs(aheadMs))} ${way} real time`
}

function Now({ row }: { readonly row: TimeRow }) {
  const { nowMs, apart } = row
  return (
    <>
      <p>
        <time class="clock-time">{new Date(nowMs).toISOString()}</time>{' '}
        <span class="clock-pace">{paceText(row)}</span>
      </p>
      {apart.length > 0 && <p class="dim">At real time: {apart.join(', ')}.</p>}
    </>
  )
}

function Call({ call, nowMs }: { readonly call: ClockCall; readonly nowMs: number }) {
  const { title, isRunning, fromMs, endedMs, fault } = call
  const passed = age(fromMs, endedMs ?? nowMs)
  return (
    <p role={fault === undefined ? 'status' : 'alert'} class="clock-call">
      {isRunning ? (
        <>
          {title}: {passed} passed{' '}
          <button type="button" onClick={stopClock}>
            Stop
          </button>
        </>
      ) : fault === undefined ? (
        `${title}: done, ${passed} passed`
      ) : (
        <span class="tone-bad">
          {title}: {fault}
        </span>
      )}
    </p>
  )
}

function OwnAdvance({ isFixed }: { readonly isFixed: boolean }) {
  const [by, setBy] = useState('')
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault()
        void callClock({ call: 'advance', by: by.trim() })
      }}
    >
      <label>
        Advance by{' '}
        <input
          value={by}
          placeholder="6m30s"
          onInput={({ currentTarget }) => setBy(currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={isFixed || by.trim() === ''}>
        Advance
      </button>
    </form>
  )
}

function Levers({ row, isFixed }: { readonly row: TimeRow; readonly isFixed: boolean }) {
  const { speed } = row
  const isPaused = speed === 0
  const shown = isPaused || speeds.includes(String(speed)) ? speeds : [...speeds, String(speed)]
  return (
    <>
      <div class="buttons" role="group" aria-label="Clock">
        <button
          type="button"
          disabled={isFixed}
          onClick={() => void callClock({ call: isPaused ? 'resume' : 'pause' })}
        >
          {isPaused ? 'Resume the clock' : 'Pause the clock'}
        </button>
        <button type="button" disabled={isFixed} onClick={() => void callClock({ call: 'step' })}>
          Step
        </button>
        {advances.map((by) => (
          <button
            key={by}
            type="button"
            aria-label={`Advance by ${by}`}
            disabled={isFixed}
            onClick={() => void callClock({ call: 'advance', by })}
          >
            +{by}
          </button>
        ))}
        <button type="button" disabled={isFixed} onClick={() => void callClock({ call: 'settle' })}>
          Settle
        </button>
        <label>
          Speed{' '}
          <select
            value={isPaused ? '' : String(speed)}
            disabled={isFixed}
            onChange={({ currentTarget }) =>
              void callClock({ call: 'speed', speed: currentTarget.value })
            }
          >
            {isPaused && <option value="">paused</option>}
            {shown.map((one) => (
              <option key={one} value={one}>
                {one} ×
              </option>
            ))}
          </select>
        </label>
      </div>
      <OwnAdvance isFixed={isFixed} />
    </>
  )
}

/** `isFixed`: nothing can be done now. */
export function Clock({ isFixed }: { readonly isFixed: boolean }) {
  const live = useChannel('time')
  const row = live.rows.get('clock')
  const call = clockCall.value
  useEffect(() => {
    if (row !== undefined) noteClusterTime(row.nowMs, row.speed)
  }, [row])
  return (
    <section aria-labelledby="clock">
      <h2 id="clock">Clock</h2>
      <Ended live={live} what="the clock" />
      {row !== undefined && (
        <>
          <Now row={row} />
          <Levers row={row} isFixed={isFixed || call?.isRunning === true} />
          {call !== undefined && <Call call={call} nowMs={row.nowMs} />}
        </>
      )}
    </section>
  )
}
