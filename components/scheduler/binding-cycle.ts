/** BindingCycle: what happens to a pod between the choice of its node and its binding, and what undoes it (upstream: schedule_one.go, bindingCycle). */
import type { Extender } from './extender.ts'
import type { Plugin, Rejection, Reservation } from './plugin.ts'
import type { PodInfo } from './pod-info.ts'
import type { Profile } from './profile.ts'
import type { NodeInfo } from './snapshot.ts'

/** What the profile's plugins set aside for one pod. */
export interface Reserved {
  readonly reservations: readonly { readonly plugin: Plugin; readonly reservation: Reservation }[]
}

/** Lets every plugin reserve; when one rejects, gives back what those before it reserved. */
export function reserve(
  { reserves }: Profile,
  info: PodInfo,
  node: NodeInfo,
): Reserved | { readonly plugin: string; readonly rejection: Rejection } {
  const reservations: { plugin: Plugin; reservation: Reservation }[] = []
  for (const plugin of reserves) {
    const outcome = plugin.reserve(info, node)
    if (outcome === undefined) continue
    if ('reasons' in outcome) {
      unreserve({ reservations })
      return { plugin: plugin.name, rejection: outcome }
    }
    reservations.push({ plugin, reservation: outcome })
  }
  return { reservations }
}

/** Gives back what was reserved, the last first. */
export function unreserve({ reservations }: Reserved): void {
  for (const { reservation } of reservations.toReversed()) reservation.unreserve()
}

/** Runs PreBind of the plugins that reserved something. Rejects with an error that names the plugin. */
export async function preBind(
  { preBinds }: Profile,
  { reservations }: Reserved,
  signal: AbortSignal,
): Promise<void> {
  for (const { plugin, reservation } of reservations) {
    if (!preBinds.has(plugin.name)) continue
    try {
      await reservation.preBind?.(signal)
    } catch (error) {
      throw new Error(`running PreBind plugin "${plugin.name}": ${messageOf(error)}`, {
        cause: error,
      })
    }
  }
}

/**
 * Binds with an extender that binds such pods, else with the profile's first bind plugin. Rejects with an error that names it; its
 * cause is the plugin's.
 */
export async function bind(
  { binds }: Profile,
  binders: readonly Extender[],
  { info, nodeName }: { readonly info: PodInfo; readonly nodeName: string },
): Promise<void> {
  for (const extender of binders) {
    try {
      await extender.bind(info, nodeName)
      return
    } catch (error) {
      if (extender.isIgnorable) continue
      throw new Error(`binding rejected: ${messageOf(error)}`, { cause: error })
    }
  }
  const [plugin] = binds
  if (plugin === undefined) throw new Error('no bind plugin is enabled')
  try {
    await plugin.bind(info, nodeName)
  } catch (error) {
    const text = `binding rejected: running Bind plugin "${plugin.name}": ${messageOf(error)}`
    throw new Error(text, { cause: error })
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
