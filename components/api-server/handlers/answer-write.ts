/** answer-write: the object that a write made, as its answer. */
import { objectKindOf } from '../../api/object-kind.ts'
import { largeBytes, nextTurn } from '../../component-base/next-turn.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { answerForm } from '../codec/respond.ts'
import { shownObject, type Form, type Shown } from '../encoding/form.ts'
import { readyToShow } from '../registry/working-state.ts'
import type { Answer } from '../request/request.ts'
import type { Written } from '../request/write.ts'

interface WriteAnswer {
  readonly resource: Resource
  readonly dryRun: boolean
  /** Default: 201 for an object that was created, else 200. */
  readonly status?: number
}

/** Synchronous for a small object that is shown as it is stored. */
export function answerWrite(
  form: Form,
  written: Written,
  of: WriteAnswer,
): Answer | Promise<Answer> {
  const { entry, outcome } = written
  const isShown = !of.dryRun && !objectKindOf(of.resource).isConverted
  if (!isShown || entry.mostBytes >= largeBytes) return answerInSteps(form, written, of)
  const body = form.one(entry)
  const status = of.status ?? (outcome === 'created' ? 201 : 200)
  if (body instanceof Promise) return body.then((bytes) => answerForm(status, form, bytes))
  return answerForm(status, form, body)
}

/** A dry run stores nothing, so an object that it creates has no resourceVersion. */
async function answerInSteps(form: Form, written: Written, of: WriteAnswer): Promise<Answer> {
  const { entry, outcome } = written
  if (entry.mostBytes >= largeBytes) await nextTurn()
  let shown: Shown = entry
  if (of.dryRun && outcome === 'created') {
    const object = entry.draft()
    delete object.metadata.resourceVersion
    if (entry.mostBytes >= largeBytes) await nextTurn()
    shown = shownObject(object)
  }
  if (objectKindOf(of.resource).isConverted) await readyToShow(of.resource, [shown])
  const status = of.status ?? (outcome === 'created' ? 201 : 200)
  return answerForm(status, form, await form.one(shown))
}
