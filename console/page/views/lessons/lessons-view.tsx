/** Lessons: guided tours through this cluster; a lesson sees what its reader did. */
import { useEffect, useState } from 'preact/hooks'
import type { LessonRow } from '../../../protocol/lessons.ts'
import { connection } from '../../app/live.ts'
import { goTo, linkTo, place } from '../../app/router.ts'
import { Begin } from './begin.tsx'
import { LessonList } from './lesson-list.tsx'
import { readLessons } from './lessons-api.ts'
import { forgetStep } from './progress.ts'
import { Tour } from './tour.tsx'

interface Lessons {
  readonly rows: readonly LessonRow[] | undefined
  readonly fault: string | undefined
  readAgain(): void
}

/** Reads them again after each lost connection: another console knows nothing of lessons that were begun. */
function useLessons(): Lessons {
  const { isOpen } = connection.value
  const [rows, setRows] = useState<readonly LessonRow[]>()
  const [fault, setFault] = useState<string>()
  const [tries, setTries] = useState(0)
  useEffect(() => {
    if (!isOpen) return undefined
    const left = new AbortController()
    readLessons(left.signal).then(
      (read) => {
        setRows(read)
        setFault(undefined)
      },
      (error: unknown) => {
        if (!left.signal.aborted) setFault(error instanceof Error ? error.message : String(error))
      },
    )
    return () => left.abort()
  }, [tries, isOpen])
  return { rows, fault, readAgain: () => setTries(tries + 1) }
}

function OneLesson({
  lesson,
  readAgain,
}: {
  readonly lesson: LessonRow
  readonly readAgain: () => void
}) {
  const { name, title, isBegun } = lesson
  const begun = (): void => {
    forgetStep(sessionStorage, name)
    readAgain()
  }
  const ended = (): void => {
    readAgain()
    goTo(['lessons'])
  }
  return (
    <div class="lesson">
      <p class="crumbs">
        <a href={linkTo(['lessons'])}>All lessons</a>
      </p>
      <h1>{title}</h1>
      {isBegun ? (
        <Tour key={name} lesson={lesson} onEnded={ended} />
      ) : (
        <Begin key={name} lesson={lesson} onBegun={begun} />
      )}
    </div>
  )
}

export function LessonsView() {
  const { rows, fault, readAgain } = useLessons()
  const [, name] = place.value.parts
  const lesson = rows?.find((one) => one.name === name && !one.ownCluster)
  if (lesson !== undefined) return <OneLesson lesson={lesson} readAgain={readAgain} />
  return (
    <>
      <h1>Lessons</h1>
      {fault !== undefined && (
        <p class="empty" role="alert">
          Cannot read the lessons: {fault}{' '}
          <button type="button" onClick={readAgain}>
            Try again
          </button>
        </p>
      )}
      {rows !== undefined && <LessonList lessons={rows} />}
    </>
  )
}
