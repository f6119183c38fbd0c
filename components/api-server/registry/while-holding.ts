/** whileHolding: a commit of an object that takes something outside of itself, such as the address of a Service. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import { StatusError } from '../../machinery/objects/status-error.ts'
import type { Strategy, StrategyContext } from '../kinds/strategy.ts'
import type { WriteTarget } from '../request/write.ts'
import type { Entry } from '../watch-cache/entry.ts'

/** Commits while the object holds what it needs. What it took is given back when nothing is written. */
export async function whileHolding(
  { dryRun }: Pick<WriteTarget, 'dryRun'>,
  of: {
    readonly strategy: Strategy
    readonly context: StrategyContext
    readonly object: KubeObject
    readonly old: KubeObject | undefined
  },
  commit: () => Promise<Entry | undefined>,
): Promise<Entry | undefined> {
  const { strategy, context, object, old } = of
  if (strategy.begin === undefined || dryRun) return await commit()
  const finish = await strategy.begin(object, old, context)
  let written: Entry | undefined
  try {
    written = await commit()
  } catch (error) {
    // After a fault of the store it may have been written all the same: repairs find out what is not in use.
    if (error instanceof StatusError) await finish?.(false)
    throw error
  }
  await finish?.(written !== undefined)
  return written
}
