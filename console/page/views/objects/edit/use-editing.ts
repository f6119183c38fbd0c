/** useEditing: the steps of a change: text, preview by a dry run, conflict, done. The text is never lost. */
import { useState } from 'preact/hooks'
import type { KubeObject } from '../../../../../components/machinery/objects/object.ts'
import { ApiError, read } from '../../../app/api.ts'
import { messageOf } from '../../../app/message-of.ts'
import { withoutManagedFields, type Yaml } from '../../../app/yaml.ts'
import type { ManagedFieldsEntry } from '../object/field-owners.ts'
import type { WriteFault } from './fault-view.tsx'
import { changedManagers } from './managers.ts'
import { mergeLines } from './merge-lines.ts'
import { writeObject, type Write, type Written } from './write-object.ts'

export type Step =
  | { readonly is: 'editing'; readonly note?: string; readonly fault?: WriteFault }
  | { readonly is: 'sending' }
  /** What the server would store; `before` is empty for a new object. */
  | {
      readonly is: 'preview'
      readonly before: string
      readonly after: string
      readonly warnings: readonly string[]
      readonly force: boolean
    }
  /** Somebody else has written. `newest` is undefined when the object is gone. */
  | {
      readonly is: 'conflict'
      readonly base: string
      readonly newest: KubeObject
      readonly newestText: string
      readonly managers: readonly ManagedFieldsEntry[]
    }
  /** Fields of the manifest belong to other managers. */
  | { readonly is: 'owned'; readonly fault: WriteFault }
  | { readonly is: 'done'; readonly written: Written }

export interface Editing {
  readonly text: string
  readonly step: Step
  setText(text: string): void
  /** A dry run. */
  preview(force?: boolean): void
  apply(): void
  /** Goes back to the text. */
  back(): void
  /** After a conflict: the own changes on top of the newest version. */
  takeOver(): void
}

/** Where a manifest is written to. Throws an error that says what is missing. */
export type Target = (object: unknown) => { readonly path: string; readonly as: Write['as'] }

interface EditingOptions {
  readonly yaml: Yaml
  readonly target: Target
  readonly initialText: string
  /** The version that is edited; undefined for a new manifest. */
  readonly base: KubeObject | undefined
}

function faultOf(error: unknown): WriteFault {
  const details = error instanceof ApiError ? { details: error.details } : {}
  return { message: messageOf(error), ...details }
}

const isStatus = (error: unknown, code: number): boolean =>
  error instanceof ApiError && error.code === code

/** The object as it is; undefined when it does not exist. */
async function readNow(path: string): Promise<KubeObject | undefined> {
  try {
    return await read<KubeObject>(path)
  } catch (error) {
    if (isStatus(error, 404)) return undefined
    throw error
  }
}

export function useEditing({ yaml, target, initialText, base: first }: EditingOptions): Editing {
  const [text, setText] = useState(initialText)
  const [step, setStep] = useState<Step>({ is: 'editing' })
  const [base, setBase] = useState({ object: first, text: initialText })
  const show = (object: KubeObject): string => yaml.format(withoutManagedFields(object))

  const conflict = async (path: string): Promise<Step> => {
    const newest = await readNow(path)
    if (newest === undefined || base.object === undefined)
      return { is: 'editing', fault: { message: 'The object has been deleted meanwhile.' } }
    const managers = changedManagers(base.object, newest)
    return { is: 'conflict', base: base.text, newest, newestText: show(newest), managers }
  }
  const attempt = async (isDryRun: boolean, force: boolean): Promise<Step> => {
    const object = yaml.parse(text)
    const { path, as } = target(object)
    try {
      const before = isDryRun ? await readNow(path) : undefined
      const written = await writeObject({ path, as, object, isDryRun, force })
      if (!isDryRun) return { is: 'done', written }
      const beforeText = before === undefined ? '' : show(before)
      const after = show(written.object)
      return { is: 'preview', before: beforeText, after, warnings: written.warnings, force }
    } catch (error) {
      if (!isStatus(error, 409)) throw error
      return as === 'replace' ? await conflict(path) : { is: 'owned', fault: faultOf(error) }
    }
  }
  const run = (isDryRun: boolean, force: boolean): void => {
    setStep({ is: 'sending' })
    void attempt(isDryRun, force)
      .catch((error: unknown): Step => ({ is: 'editing', fault: faultOf(error) }))
      .then(setStep)
  }
  return {
    text,
    step,
    setText,
    preview: (force = false) => run(true, force),
    apply: () => run(false, step.is === 'preview' && step.force),
    back: () => setStep({ is: 'editing' }),
    takeOver: () => {
      if (step.is !== 'conflict') return
      const { lines, conflicts } = mergeLines(
        base.text.split('\n'),
        text.split('\n'),
        step.newestText.split('\n'),
      )
      setText(lines.join('\n'))
      setBase({ object: step.newest, text: step.newestText })
      const kept = conflicts.map(({ own, newest }) => `“${own.trim()}” over “${newest.trim()}”`)
      const note =
        kept.length === 0
          ? 'Your changes are now on top of the newest version.'
          : `Your changes are now on top of the newest version. Yours were kept: ${kept.join('; ')}.`
      setStep({ is: 'editing', note })
    },
  }
}
