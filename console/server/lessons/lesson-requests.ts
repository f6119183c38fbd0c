/** Requests of the page below `/lessons/`. The guard has admitted them. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  methodNotAllowed,
  StatusError,
} from '../../../components/machinery/objects/status-error.ts'
import type { LessonAnswer, LessonPerform } from '../../protocol/lessons.ts'
import { answerError } from '../answer-error.ts'
import { bodyOf } from '../request-body.ts'
import type { LessonTours } from './lesson-tours.ts'

export const lessonsPrefix = '/lessons/'

const mostBytes = 4096

async function readJson(request: IncomingMessage): Promise<unknown> {
  try {
    return JSON.parse((await bodyOf(request, mostBytes)).toString()) ?? {}
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new StatusError('BadRequest', 'the body is not JSON', { cause: error })
  }
}

function checkStep(value: unknown): number {
  const { step } = value as Partial<LessonPerform>
  if (!Number.isSafeInteger(step)) throw new StatusError('BadRequest', 'the body needs "step"')
  return step as number
}

function checkAnswer(value: unknown): LessonAnswer {
  const { step, text: answer } = value as Partial<LessonAnswer>
  if (!Number.isSafeInteger(step) || typeof answer !== 'string')
    throw new StatusError('BadRequest', 'the body needs "step" and "text"')
  return { step: step as number, text: answer }
}

/** Resolves with what is answered as JSON. */
async function act(request: IncomingMessage, tours: LessonTours): Promise<unknown> {
  const { method, url = '' } = request
  const { pathname } = new URL(url, 'http://console')
  const [name = '', action, ...more] = pathname.slice(lessonsPrefix.length).split('/')
  if (name === '' && action === undefined) {
    if (method !== 'GET') throw methodNotAllowed()
    return tours.list()
  }
  if (more.length > 0) throw new StatusError('NotFound', 'not found')
  if (method !== 'POST') throw methodNotAllowed()
  if (action === 'begin') await tours.begin(name)
  else if (action === 'end') await tours.end(name)
  else if (action === 'answer') tours.answer(name, checkAnswer(await readJson(request)))
  else if (action === 'perform') await tours.perform(name, checkStep(await readJson(request)))
  else throw new StatusError('NotFound', 'not found')
  return {}
}

/** Answers; it never rejects. */
export async function answerLessons(
  request: IncomingMessage,
  response: ServerResponse,
  { tours, onFault }: { readonly tours: LessonTours; readonly onFault: (error: unknown) => void },
): Promise<void> {
  try {
    const value = await act(request, tours)
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  } catch (error) {
    answerError(response, { error, onFault })
  }
}
