/** Playing a lesson to its end: each check is seen to fail before its step is done, and to hold afterwards. */
import { expect } from 'vitest'
import type { Cluster } from '../../../cluster/cluster.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import { createCommandFolder } from '../../../console/lessons-engine/command-folder.ts'
import type { LessonPlace } from '../../../console/lessons-engine/lesson-place.ts'
import { createLessonSession } from '../../../console/lessons-engine/lesson-session.ts'
import type { Lesson } from '../../../console/lessons-engine/lesson.ts'
import { performLook, performStep } from '../../../console/lessons-engine/perform-step.ts'
import { processCluster } from '../../../scenarios/engine/process-cluster.ts'

export interface Playing {
  readonly cluster: Cluster
  readonly place: LessonPlace
  /** The PATH of the commands; kubectl is in it or not. */
  readonly searchPath: string
}

const withinMs = 60_000

/** How many steps were done by their command; the others by their action. */
export async function playLesson(lesson: Lesson, playing: Playing): Promise<number> {
  const { cluster, place, searchPath } = playing
  using folder = createCommandFolder(searchPath)
  const over = new AbortController()
  const signal = over.signal
  const session = createLessonSession(lesson, place)
  const options = {
    session,
    cluster: processCluster(cluster),
    clock: systemClock,
    signal,
    folder,
  }
  let commandCount = 0
  try {
    for (const [index, step] of lesson.steps.entries()) {
      const where = `${lesson.name}, step ${index + 1}, ${step.heading}`
      const before = await session.check(index, signal)
      expect(before.done, `${where}: its check holds before it is done`).toBe(false)
      expect(before.report, where).not.toEqual([])

      const { output, failure } = await performStep(index, options)
      const { question, command, tools, text } = session.view(index)
      if (tools.every(folder.has)) commandCount += 1
      if (question !== undefined) session.answer(index, output)
      expect(`${text}${command}`, `${where}: a variable is not set`).not.toMatch(/\$\{/)

      let report: readonly string[] = []
      const late = AbortSignal.any([signal, AbortSignal.timeout(withinMs)])
      try {
        for await (const verdict of session.verdicts(index, late)) {
          report = verdict.report
          if (verdict.done) break
        }
      } catch (error) {
        throw new Error(`${where}: ${[...failure, ...report].join('\n')}`, { cause: error })
      }
      const look = await performLook(index, options)
      // `skiff status` and `skiff why` end with 1 when something is not as it should be.
      const ends = [undefined, 'it ended with exit code 1']
      expect(ends, `${where}: ${look?.output ?? ''}`).toContain(look?.failure[0])
      expect(look?.output ?? 'none', where).toMatch(/^(?!error:|.*[Uu]nknown (command|flag))./)
      expect(session.view(index).explanation, where).not.toMatch(/\$\{/)
    }
  } finally {
    over.abort(new Error('the lesson is over'))
  }
  return commandCount
}
