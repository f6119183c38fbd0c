/** Requests of the page about lessons. They throw ApiErrors. */
import type { LessonAnswer, LessonRow } from '../../../protocol/lessons.ts'
import { sendTo } from '../../app/api.ts'

export async function readLessons(signal: AbortSignal): Promise<LessonRow[]> {
  return (await (await sendTo('/lessons/', { signal })).json()) as LessonRow[]
}

const post = async (name: string, action: string, body?: unknown): Promise<void> => {
  await sendTo(`/lessons/${encodeURIComponent(name)}/${action}`, {
    method: 'POST',
    ...(body === undefined ? {} : { body }),
  })
}

export const beginLesson = (name: string): Promise<void> => post(name, 'begin')

/** Deletes what the lesson made. */
export const endLesson = (name: string): Promise<void> => post(name, 'end')

/** Does the step for the learner. */
export const performStep = (name: string, step: number): Promise<void> =>
  post(name, 'perform', { step })

export const answerStep = (name: string, answer: LessonAnswer): Promise<void> =>
  post(name, 'answer', answer)
