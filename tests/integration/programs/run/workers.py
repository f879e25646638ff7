"""Work in child processes of the kind that the argument names."""

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import time

import kinetograph as kg


def work(number: int) -> int:
    with kg.scope("work", number=number):
        return sum(range(number))


hanging = multiprocessing.get_context("fork").SimpleQueue()


def hang(number: int) -> None:
    with kg.scope("hangs"):
        hanging.put(number)
        time.sleep(60)


def pool(method: str) -> None:
    with multiprocessing.get_context(method).Pool(2) as workers:
        print(sum(workers.map(work, range(100), chunksize=10)))


def futures(method: str) -> None:
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as workers:
        print(sum(workers.map(work, range(100), chunksize=10)))


def terminated_pool() -> None:
    with multiprocessing.get_context("fork").Pool(2) as workers:
        print(sum(workers.map(work, range(100), chunksize=10)))
        workers.map_async(hang, range(2), chunksize=1)
        hanging.get(), hanging.get()
        workers.terminate()


def fork() -> None:
    child = os.fork()
    if child == 0:
        print(work(100), flush=True)
        os._exit(0)
    print(os.waitpid(child, 0)[1])


def nested_forks() -> None:
    if os.fork() == 0:
        if os.fork() == 0:
            print(work(100), flush=True)
            os._exit(0)
        os._exit(os.waitpid(-1, 0)[1])
    print(os.wait()[1])


def python_of(*arguments: str) -> None:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    print(done.stdout + done.stderr, done.returncode)


def other_python(path: str) -> None:
    print(subprocess.run([path, "-c", "print(6 * 7)"], capture_output=True, text=True))


CHILD = "import kinetograph as kg\nwith kg.scope('work'): print('child')"

if __name__ == "__main__":
    how, *arguments = sys.argv[1:]
    with kg.scope("whole"):
        if how == "pool":
            pool(*arguments)
        elif how == "futures":
            futures(*arguments)
        elif how == "subprocess":
            python_of(*arguments, "-c", CHILD)
        elif how == "other python":
            other_python(*arguments)
        else:
            {"fork": fork, "nested forks": nested_forks, "terminated pool": terminated_pool}[how]()
