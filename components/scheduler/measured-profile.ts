/** A profile whose plugins are timed one by one, for the attempts that are measured (upstream: framework/runtime, metrics_recorder.go). */
import type { Clock } from '../component-base/clock.ts'
import type { NodeCheck, PluginWith, PostFilterResult, Rejection, Reservation } from './plugin.ts'
import type { Profile } from './profile.ts'

/** One run of a plugin. */
export interface PluginRun {
  readonly plugin: string
  readonly point: string
  readonly status: string
  readonly seconds: number
}

type Observe = (run: PluginRun) => void

/** Times runs of one plugin; a run that throws has the status Error. */
interface Timer {
  run<T>(point: string, run: () => T, statusOf: (result: T) => string): T
  wait<T>(point: string, run: () => Promise<T>, statusOf: (result: T) => string): Promise<T>
}

function createTimer(plugin: string, clock: Clock, observe: Observe): Timer {
  const since = (startedMs: number): number => (clock.elapsed() - startedMs) / 1000
  return {
    run: (point, run, statusOf) => {
      const startedMs = clock.elapsed()
      let status = 'Error'
      try {
        const result = run()
        status = statusOf(result)
        return result
      } finally {
        observe({ plugin, point, status, seconds: since(startedMs) })
      }
    },
    wait: async (point, run, statusOf) => {
      const startedMs = clock.elapsed()
      let status = 'Error'
      try {
        const result = await run()
        status = statusOf(result)
        return result
      } finally {
        observe({ plugin, point, status, seconds: since(startedMs) })
      }
    },
  }
}

const success = (): string => 'Success'

function statusOf(rejection: Rejection | undefined): string {
  if (rejection === undefined) return 'Success'
  return rejection.resolvable ? 'Unschedulable' : 'UnschedulableAndUnresolvable'
}

function preFilterStatus(outcome: NodeCheck | Rejection | undefined): string {
  if (outcome === undefined) return 'Skip'
  return typeof outcome === 'function' ? 'Success' : statusOf(outcome)
}

function postFilterStatus(result: PostFilterResult | undefined): string {
  // Upstream's plugin for devices answers this, too, for a pod that claims none.
  return result?.ok === true ? 'Success' : 'Unschedulable'
}

function measuredFilter(plugin: PluginWith<'filter'>, timer: Timer): PluginWith<'filter'> {
  return {
    name: plugin.name,
    filter: (pod, view) => {
      const outcome = timer.run('PreFilter', () => plugin.filter(pod, view), preFilterStatus)
      if (typeof outcome !== 'function') return outcome
      return (node) => timer.run('Filter', () => outcome(node), statusOf)
    },
  }
}

function measuredReservation(reservation: Reservation, timer: Timer): Reservation {
  const { preBind } = reservation
  return {
    unreserve: () => timer.run('Unreserve', () => reservation.unreserve(), success),
    ...(preBind !== undefined && {
      preBind: (signal: AbortSignal) =>
        timer.wait('PreBind', () => preBind.call(reservation, signal), success),
    }),
  }
}

function measuredReserve(plugin: PluginWith<'reserve'>, timer: Timer): PluginWith<'reserve'> {
  return {
    name: plugin.name,
    reserve: (pod, node) => {
      const outcome = timer.run(
        'Reserve',
        () => plugin.reserve(pod, node),
        (one) => statusOf(one !== undefined && 'reasons' in one ? one : undefined),
      )
      const isReserved = outcome !== undefined && !('reasons' in outcome)
      return isReserved ? measuredReservation(outcome, timer) : outcome
    },
  }
}

/** The profile with every run of its plugins told to `observe`, but those of the queue. */
export function measuredProfile(profile: Profile, clock: Clock, observe: Observe): Profile {
  const timerOf = ({ name }: { readonly name: string }): Timer => createTimer(name, clock, observe)
  return {
    ...profile,
    filters: profile.filters.map((plugin) => measuredFilter(plugin, timerOf(plugin))),
    postFilters: profile.postFilters.map((plugin) => ({
      name: plugin.name,
      postFilter: (attempt) =>
        timerOf(plugin).wait('PostFilter', () => plugin.postFilter(attempt), postFilterStatus),
    })),
    scores: profile.scores.map(({ plugin, weight }) => ({
      weight,
      plugin: {
        name: plugin.name,
        score: (pod, nodes, view) =>
          timerOf(plugin).run(
            'Score',
            () => plugin.score(pod, nodes, view),
            (scores) => (scores === undefined ? 'Skip' : 'Success'),
          ),
      },
    })),
    reserves: profile.reserves.map((plugin) => measuredReserve(plugin, timerOf(plugin))),
    binds: profile.binds.map((plugin) => ({
      name: plugin.name,
      bind: (pod, node) => timerOf(plugin).wait('Bind', () => plugin.bind(pod, node), success),
    })),
  }
}
